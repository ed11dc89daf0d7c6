#include <cstring>
#include <string>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/torch/tensor_bytes.h>

namespace ratoon::tensor_bytes_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string refusal_of(const at::Tensor& tensor) {
  const auto result = bytes_of("layer.weight", tensor);
  if (result) return "accepted";
  EXPECT_EQ(result.error().kind(), ErrorKind::kInvalid);
  EXPECT_THAT(result.error().message(), HasSubstr("\"layer.weight\""));
  return result.error().message();
}

TEST(TensorBytes, ViewsTheTensorsOwnMemory) {
  const auto tensor = at::arange(6, at::kFloat).reshape({2, 3});
  const auto view = bytes_of("w", tensor);
  ASSERT_TRUE(view) << view.error().message();
  EXPECT_EQ(view->name, "w");
  EXPECT_EQ(view->dtype, "F32");
  EXPECT_THAT(view->shape, ElementsAre(2, 3));
  EXPECT_EQ(view->bytes.data(), static_cast<const std::byte*>(tensor.const_data_ptr()));
  ASSERT_EQ(view->bytes.size(), 24U);
  float last = 0;
  std::memcpy(&last, view->bytes.data() + 20, sizeof(last));
  EXPECT_EQ(last, 5.0F);
}

TEST(TensorBytes, AViewOfPartOfAStorageStartsWhereThePartDoes) {
  const auto whole = at::arange(10, at::kLong);
  const auto view = bytes_of("rows", whole.slice(0, 4, 7));
  ASSERT_TRUE(view);
  ASSERT_EQ(view->bytes.size(), 24U);
  std::int64_t first = 0;
  std::memcpy(&first, view->bytes.data(), sizeof(first));
  EXPECT_EQ(first, 4);
}

TEST(TensorBytes, KeepsTheMemoryAlive) {
  auto view = bytes_of("w", at::full({1000}, 7, at::kByte));
  ASSERT_TRUE(view);
  EXPECT_EQ(view->owner.use_count(), 1U);
  EXPECT_EQ(view->bytes.back(), std::byte{7});
}

TEST(TensorBytes, NamesElementTypesAsSafetensorsDoes) {
  const std::pair<at::ScalarType, std::string_view> expected[] = {
      {at::kBool, "BOOL"},
      {at::kByte, "U8"},
      {at::kChar, "I8"},
      {at::kShort, "I16"},
      {at::kUInt16, "U16"},
      {at::kInt, "I32"},
      {at::kUInt32, "U32"},
      {at::kLong, "I64"},
      {at::kUInt64, "U64"},
      {at::kHalf, "F16"},
      {at::kBFloat16, "BF16"},
      {at::kFloat, "F32"},
      {at::kDouble, "F64"},
      {at::kComplexFloat, "C64"},
      {at::kFloat8_e4m3fn, "F8_E4M3"},
      {at::kFloat8_e5m2, "F8_E5M2"},
      {at::kFloat8_e8m0fnu, "F8_E8M0"},
  };
  for (const auto& [type, name] : expected) {
    const auto view = bytes_of("w", at::empty({3}, type));
    ASSERT_TRUE(view) << name;
    EXPECT_EQ(view->dtype, name);
    EXPECT_EQ(view->bytes.size(), 3 * c10::elementSize(type)) << name;
  }
}

TEST(TensorBytes, ScalarsAndEmptyTensorsAreFine) {
  const auto scalar = bytes_of("step", at::scalar_tensor(3.5, at::kDouble));
  ASSERT_TRUE(scalar);
  EXPECT_THAT(scalar->shape, IsEmpty());
  EXPECT_EQ(scalar->bytes.size(), 8U);
  const auto empty = bytes_of("none", at::empty({0, 4}));
  ASSERT_TRUE(empty);
  EXPECT_THAT(empty->shape, ElementsAre(0, 4));
  EXPECT_THAT(empty->bytes, IsEmpty());
}

TEST(TensorBytes, RefusesWhatHasNoPlainBytes) {
  EXPECT_THAT(refusal_of({}), HasSubstr("is undefined"));
  EXPECT_THAT(refusal_of(at::empty({2}, at::kMeta)), HasSubstr("meta device"));
  EXPECT_THAT(refusal_of(at::eye(3).to_sparse()), HasSubstr("not dense"));
  EXPECT_THAT(refusal_of(at::eye(3).to_sparse_csr()), HasSubstr("not dense"));
  EXPECT_THAT(refusal_of(at::quantize_per_tensor(at::ones({2}), 0.1, 0, at::kQInt8)), HasSubstr("quantised"));
  EXPECT_THAT(refusal_of(at::_nested_tensor_from_tensor_list({at::ones({1}), at::ones({2})})),
              HasSubstr("is nested"));
  EXPECT_THAT(refusal_of(at::zeros({2}, at::kComplexDouble)), HasSubstr("no element type for ComplexDouble"));
}

TEST(TensorBytes, RefusesWhatACopyWouldMendAndSaysHow) {
  EXPECT_THAT(refusal_of(at::ones({2, 3}).t()),
              AllOf(HasSubstr("not contiguous"), HasSubstr("contiguous()")));
  EXPECT_THAT(refusal_of(at::ones({1}).expand({4})), HasSubstr("not contiguous"));
  EXPECT_THAT(refusal_of(at::ones({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast)),
              HasSubstr("not contiguous"));
  EXPECT_THAT(refusal_of(at::ones({2}, at::kComplexFloat).conj()), HasSubstr("conjugated"));
  EXPECT_THAT(refusal_of(at::_efficientzerotensor({2})), HasSubstr("no memory of its own"));
}

TEST(TensorBytesCopy, CopiesOnlyWhereItMust) {
  const auto plain = at::arange(4);
  const auto same = bytes_of_copy("w", plain);
  ASSERT_TRUE(same);
  EXPECT_EQ(same->bytes.data(), static_cast<const std::byte*>(plain.const_data_ptr()));

  const auto transposed = at::arange(6, at::kByte).reshape({2, 3}).t();
  const auto copy = bytes_of_copy("w", transposed);
  ASSERT_TRUE(copy);
  EXPECT_THAT(copy->shape, ElementsAre(3, 2));
  EXPECT_THAT(copy->bytes, ElementsAre(std::byte{0}, std::byte{3}, std::byte{1}, std::byte{4}, std::byte{2},
                                       std::byte{5}));
}

TEST(TensorBytesCopy, ResolvesWhatIsLazy) {
  const auto value = at::complex(at::tensor({1.0F}), at::tensor({2.0F}));
  const auto copy = bytes_of_copy("w", value.conj());
  ASSERT_TRUE(copy);
  float imaginary = 0;
  std::memcpy(&imaginary, copy->bytes.data() + 4, sizeof(imaginary));
  EXPECT_EQ(imaginary, -2.0F);
  const auto negated = bytes_of_copy("w", at::imag(value.conj()));
  ASSERT_TRUE(negated);
  std::memcpy(&imaginary, negated->bytes.data(), sizeof(imaginary));
  EXPECT_EQ(imaginary, -2.0F);
  const auto zeros = bytes_of_copy("w", at::_efficientzerotensor({2}));
  ASSERT_TRUE(zeros);
  EXPECT_THAT(zeros->bytes, testing::Each(std::byte{0}));
}

TEST(TensorBytesCopy, StillRefusesWhatHasNoPlainBytes) {
  const auto result = bytes_of_copy("emb.weight", at::eye(3).to_sparse());
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message(), AllOf(HasSubstr("\"emb.weight\""), HasSubstr("not dense")));
}

}  // namespace
}  // namespace ratoon::tensor_bytes_test
