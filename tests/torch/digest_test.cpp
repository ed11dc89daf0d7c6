#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>

#include <ratoon/torch/digest.h>

namespace ratoon::digest_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct NetImpl : torch::nn::Module {
  explicit NetImpl(bool bias_first = false) {
    if (bias_first) scale = register_buffer("scale", torch::ones({1}));
    hidden = register_module("hidden", torch::nn::Linear(4, 3));
    if (!bias_first) scale = register_buffer("scale", torch::ones({1}));
  }
  torch::nn::Linear hidden{nullptr};
  torch::Tensor scale;
};
TORCH_MODULE(Net);

Net seeded_net(bool bias_first = false) {
  torch::manual_seed(7);
  return Net(bias_first);
}

std::string digest_of(const torch::nn::Module& module) {
  const auto result = digest(module);
  EXPECT_TRUE(result) << result.error().message();
  return result.value_or("failed");
}

std::string digest_of(const std::vector<NamedTensor>& tensors) {
  const auto result = digest(tensors);
  EXPECT_TRUE(result) << result.error().message();
  return result.value_or("failed");
}

std::string digest_of(const at::Tensor& tensor) {
  return digest_of(std::vector<NamedTensor>{{"w", tensor}});
}

TEST(Digest, EqualModulesHaveEqualDigests) {
  const auto first = digest_of(*seeded_net());
  EXPECT_EQ(first.size(), 32U);
  EXPECT_EQ(first, digest_of(*seeded_net()));
  EXPECT_EQ(first, digest_of(*seeded_net(true))) << "the order of registration must not matter";
}

TEST(Digest, OneBitOfOneParameterOrBufferChangesIt) {
  const torch::NoGradGuard no_grad;
  const auto original = digest_of(*seeded_net());
  auto net = seeded_net();
  auto element = net->hidden->weight.view(-1)[11];
  element.copy_(torch::nextafter(element, torch::tensor(100.0F)));
  EXPECT_NE(digest_of(*net), original);

  net = seeded_net();
  net->scale.fill_(2);
  EXPECT_NE(digest_of(*net), original);
}

TEST(Digest, DoesNotDependOnGradientsOrTrainingMode) {
  auto net = seeded_net();
  net->eval();
  net->hidden->weight.mutable_grad() = torch::ones({3, 4});
  EXPECT_EQ(digest_of(*net), digest_of(*seeded_net()));
}

TEST(Digest, AParameterIsNotABuffer) {
  torch::nn::Module with_parameter("m");
  with_parameter.register_parameter("t", torch::ones({2}), false);
  torch::nn::Module with_buffer("m");
  with_buffer.register_buffer("t", torch::ones({2}));
  EXPECT_NE(digest_of(with_parameter), digest_of(with_buffer));
}

TEST(Digest, TellsNameTypeShapeAndOrderOfBytesApart) {
  const auto ones = torch::ones({2, 3});
  const auto base = digest_of(ones);
  EXPECT_EQ(base, digest_of(torch::ones({2, 3})));
  EXPECT_NE(base, digest_of(std::vector<NamedTensor>{{"v", ones}}));
  EXPECT_NE(base, digest_of(ones.reshape({3, 2})));
  EXPECT_NE(base, digest_of(ones.reshape({6})));
  EXPECT_NE(base, digest_of(ones.view(torch::kInt32)));
  EXPECT_NE(digest_of(torch::zeros({0, 4})), digest_of(torch::zeros({4, 0})));
  EXPECT_NE(digest_of(torch::tensor({1.0F, 2.0F})), digest_of(torch::tensor({2.0F, 1.0F})));
}

TEST(Digest, IsOfBitsNotOfNumbers) {
  EXPECT_NE(digest_of(torch::tensor(0.0)), digest_of(torch::tensor(-0.0)));
  const auto nan = torch::tensor(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(digest_of(nan), digest_of(nan.clone()));
}

TEST(Digest, DoesNotDependOnStrides) {
  const auto tensor = torch::arange(24, torch::kFloat32).reshape({1, 2, 3, 4});
  EXPECT_EQ(digest_of(tensor), digest_of(tensor.contiguous(at::MemoryFormat::ChannelsLast)));
  EXPECT_EQ(digest_of(tensor.permute({3, 2, 1, 0})), digest_of(tensor.permute({3, 2, 1, 0}).contiguous()));
  EXPECT_EQ(digest_of(torch::ones({1}).expand({5})), digest_of(torch::ones({5})));
}

TEST(Digest, AListIsTakenInOrderOfNames) {
  const NamedTensor a{"a", torch::ones({2})};
  const NamedTensor b{"b", torch::zeros({2})};
  EXPECT_EQ(digest_of(std::vector{a, b}), digest_of(std::vector{b, a}));
  EXPECT_NE(digest_of(std::vector{a, b}),
            digest_of(std::vector<NamedTensor>{{"a", b.tensor}, {"b", a.tensor}}));
  EXPECT_NE(digest_of(std::vector<NamedTensor>{}), digest_of(std::vector{a}));
}

TEST(Digest, AKnownValueStaysWhatItIs) {
  // Digests are compared between runs, and therefore between versions of Ratoon. Change this line only
  // together with the release notes.
  EXPECT_EQ(digest_of(torch::arange(4, torch::kInt32)), "a3921b8c460144b093404df76622c613");
}

TEST(Digest, RefusesTwinsAndWhatHasNoBytes) {
  const std::vector<NamedTensor> twins = {
      {"x", torch::ones({1})}, {"y", torch::ones({1})}, {"x", torch::ones({1})}};
  const auto two = digest(twins);
  ASSERT_FALSE(two);
  EXPECT_THAT(two.error().message(), HasSubstr("two tensors are named \"x\""));

  const std::vector<NamedTensor> sparse = {{"good", torch::ones({1})}, {"emb", torch::eye(2).to_sparse()}};
  const auto refused = digest(sparse);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), AllOf(HasSubstr("\"emb\""), HasSubstr("not dense")));
}

}  // namespace
}  // namespace ratoon::digest_test
