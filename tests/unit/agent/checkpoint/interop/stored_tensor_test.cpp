#include "agent/src/checkpoint/interop/stored_tensor.h"

#include <algorithm>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/agent/checkpoint/interop/interop_support.h"

namespace ratoon::checkpoint::stored_tensor_test {
namespace {

using testing::HasSubstr;
using namespace test;  // NOLINT

constexpr std::uint64_t kHuge = std::uint64_t{1} << 63;

std::string numbered(std::size_t count) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) bytes += static_cast<char>(i);
  return bytes;
}

// Element by element, as the words say it.
std::string slowly(const TensorShape& shape, const TensorShape& strides, std::uint64_t offset,
                   const std::string& storage, std::size_t dimension = 0) {
  if (dimension == shape.size()) return storage.substr(offset * 2, 2);
  std::string out;
  for (std::uint64_t i = 0; i < shape[dimension]; ++i)
    out += slowly(shape, strides, offset + i * strides[dimension], storage, dimension + 1);
  return out;
}

TEST(StoredTensor, IsWrittenRowByRowWhateverItsStrides) {
  const std::string storage = numbered(240);
  const std::vector<std::pair<TensorShape, TensorShape>> cases{{{}, {}},
                                                               {{1}, {99}},
                                                               {{4}, {1}},
                                                               {{4}, {3}},
                                                               {{3, 4}, {1, 3}},
                                                               {{3, 4}, {4, 1}},
                                                               {{3, 4}, {0, 1}},
                                                               {{3, 4}, {1, 0}},
                                                               {{2, 3, 4}, {12, 4, 1}},
                                                               {{2, 3, 4}, {1, 2, 6}},
                                                               {{2, 3, 4}, {24, 4, 1}},
                                                               {{2, 1, 4}, {4, kHuge, 1}},
                                                               {{1, 5, 1}, {7, 2, 9}},
                                                               {{0, 3}, {3, 1}},
                                                               {{3, 0}, {kHuge, kHuge}},
                                                               {{2, 2, 2, 2}, {3, 50, 1, 7}}};
  for (const auto& [shape, strides] : cases) {
    SCOPED_TRACE(testing::PrintToString(shape) + testing::PrintToString(strides));
    const auto tensor = StoredTensor::make(ElementType::kInt16, shape, strides, 3, bytes_in(storage));
    ASSERT_TRUE(tensor.has_value()) << tensor.error().message();
    const std::string expected = slowly(shape, strides, 3, storage);
    EXPECT_EQ(contents(*tensor), expected);
    EXPECT_EQ(tensor->size_bytes(), expected.size());
    if (tensor->is_contiguous()) {
      const auto bytes = tensor->bytes();
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), expected);
    }
  }
  EXPECT_TRUE(
      StoredTensor::make(ElementType::kInt16, {2, 1, 4}, {4, 9, 1}, 0, bytes_in(storage))->is_contiguous());
  EXPECT_FALSE(
      StoredTensor::make(ElementType::kInt16, {2, 2}, {1, 2}, 0, bytes_in(storage))->is_contiguous());
}

TEST(StoredTensor, LargeOnesComeInPiecesOfBoundedSize) {
  struct Sink final : ByteSink {
    Result<void> append(std::span<const std::byte> bytes) override {
      largest = std::max(largest, bytes.size());
      text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return {};
    }
    std::size_t largest = 0;
    std::string text;
  } sink;
  const std::string storage = numbered(2'000'000);
  const auto tensor = StoredTensor::make(ElementType::kInt16, {1000, 1000}, {1, 1000}, 0, bytes_in(storage));
  ASSERT_TRUE(tensor->write(sink).has_value());
  EXPECT_LE(sink.largest, std::size_t{256} << 10);
  EXPECT_EQ(sink.text, slowly({1000, 1000}, {1, 1000}, 0, storage));
}

TEST(StoredTensor, NothingReachesPastTheStorage) {
  const std::string storage = numbered(20);  // 10 elements
  const std::vector<std::tuple<TensorShape, TensorShape, std::uint64_t>> cases{
      {{10}, {1}, 1},     {{11}, {1}, 0},    {{}, {}, 10},
      {{}, {}, kHuge},    {{2}, {10}, 0},    {{2, 2}, {5, 5}, 0},
      {{2}, {kHuge}, 0},  {{3}, {kHuge}, 0}, {{2, 2}, {kHuge, kHuge}, 0},
      {{4, 4}, {3, 1}, 0}};
  for (const auto& [shape, strides, offset] : cases) {
    const auto tensor = StoredTensor::make(ElementType::kInt16, shape, strides, offset, bytes_in(storage));
    ASSERT_FALSE(tensor.has_value()) << testing::PrintToString(shape) << testing::PrintToString(strides);
    EXPECT_THAT(tensor.error().message(), HasSubstr("10 elements of its storage"));
  }
  EXPECT_TRUE(StoredTensor::make(ElementType::kInt16, {10}, {1}, 0, bytes_in(storage)).has_value());
  EXPECT_TRUE(StoredTensor::make(ElementType::kInt16, {4, 4}, {2, 1}, 0, bytes_in(storage)).has_value());
  EXPECT_TRUE(StoredTensor::make(ElementType::kInt16, {0}, {1}, kHuge, bytes_in(storage)).has_value());
  const auto overflow = StoredTensor::make(ElementType::kInt16, {kHuge, 2}, {0, 0}, 0, bytes_in(storage));
  EXPECT_THAT(overflow.error().message(), HasSubstr("2^62"));
  for (const TensorShape& shape :
       {TensorShape{0, kHuge, 4}, TensorShape{kHuge, 4, 0}, TensorShape{kHuge / 2, 0, 4}}) {
    const auto empty = StoredTensor::make(ElementType::kInt16, shape, {1, 1, 1}, 0, bytes_in(storage));
    ASSERT_FALSE(empty.has_value()) << testing::PrintToString(shape);
    EXPECT_THAT(empty.error().message(),
                HasSubstr("the shape overflows: its lengths other than 0 give more than 2^62 bytes"));
  }
  EXPECT_FALSE(StoredTensor::make(ElementType::kInt16, {1}, {}, 0, bytes_in(storage)).has_value());
  EXPECT_FALSE(
      StoredTensor::make(ElementType::kInt16, TensorShape(65, 1), TensorShape(65, 1), 0, bytes_in(storage))
          .has_value());
}

}  // namespace
}  // namespace ratoon::checkpoint::stored_tensor_test
