// --deterministic in a process that has computed nothing before train(). The order of the cases is the order
// of events in a process.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>

#include <ratoon/torch/track.h>
#include <ratoon/train.h>

#include "tests/support/temporary_folder.h"

namespace ratoon::numerics_test {
namespace {

using testing::HasSubstr;

constexpr int kBegan = 3;  // threads with which the run begins

class NumericsTest : public testing::Test {
 protected:
  int train(
      std::uint64_t steps, const std::function<void()>& look,
      const std::function<void(const torch::nn::Linear&)>& look_at = [](const torch::nn::Linear&) {}) {
    options_.save_folder = folder_.path().string();
    options_.deterministic = true;
    testing::internal::CaptureStderr();
    const int code = ratoon::train(options_, [&](Session& session) {
      torch::nn::Linear net(2, 2);
      look_at(net);
      session.track("net", *net);
      for ([[maybe_unused]] const auto step : session.steps(steps)) look();
    });
    said_ = testing::internal::GetCapturedStderr();
    return code;
  }
  std::string manifest(const std::string& name) {
    return test::read_text(folder_.path() / "run" / "manifests" / name);
  }

  test::TemporaryFolder folder_;
  Options options_{.save_folder = "", .run_name = "run", .member = {}};
  std::string said_;
};

TEST_F(NumericsTest, ArePinnedBeforeAnythingIsComputedAndNoted) {
  at::set_num_threads(kBegan);
  ASSERT_EQ(train(1,
                  [] {
                    EXPECT_TRUE(at::globalContext().deterministicAlgorithms());
                    EXPECT_TRUE(at::globalContext().deterministicCuDNN());
                    EXPECT_TRUE(at::globalContext().deterministicMkldnn());
                    EXPECT_FALSE(at::globalContext().benchmarkCuDNN());
                    auto sums = at::zeros({4});
                    const auto twice = at::ones({2}, at::kLong);
                    EXPECT_THROW(sums.put_(twice, at::ones({2})), c10::Error)
                        << "which of two counts, nobody says";
                  }),
            0)
      << said_;
  const std::string first = manifest("s0000000001.a0001.json");
  EXPECT_THAT(first, HasSubstr("\"library\": \"LibTorch 2."));
  EXPECT_THAT(first, HasSubstr("\"device\": \"cpu\""));
  EXPECT_THAT(first, HasSubstr("\"deterministic\": true"));
  EXPECT_THAT(first, HasSubstr("\"threads\": 3"));
  EXPECT_THAT(first, HasSubstr("\"cpu_capability\": \"" + at::get_cpu_capability() + "\""));
  EXPECT_NE(at::get_cpu_capability(), "AVX512") << "not every machine has it";

  at::set_num_threads(1);
  EXPECT_EQ(train(2, [] { EXPECT_EQ(at::get_num_threads(), kBegan); }), 0) << said_;
  EXPECT_EQ(said_.find("may differ"), std::string::npos) << said_;
}

TEST_F(NumericsTest, SeedIsThatOfEveryGeneratorBeforeTheFunctionIsCalled) {
  options_.seed = 17;
  options_.run_name = "seeded";
  torch::Tensor weight;
  EXPECT_EQ(train(1, [] {}, [&](const torch::nn::Linear& net) { weight = net->weight.detach().clone(); }), 0);
  at::manual_seed(17);
  EXPECT_TRUE(torch::nn::Linear(2, 2)->weight.equal(weight)) << said_;
}

}  // namespace
}  // namespace ratoon::numerics_test
