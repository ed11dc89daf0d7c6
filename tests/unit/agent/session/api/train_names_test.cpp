// The names that train() gives to its newest checkpoints, if the name changes from one to the next.
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/stream.h>
#include <ratoon/train.h>

#include "agent/src/checkpoint/format/file_names.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::train_names_test {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::ElementsAre;
using testing::Key;
using testing::Pair;
using testing::StartsWith;

class TrainNames : public testing::Test {
 protected:
  // Epochs of 20 samples in batches of 8, unless there is no stream.
  std::string train(std::uint64_t steps, bool has_epochs = true) {
    options_.save_folder = folder_.path().string();
    testing::internal::CaptureStderr();
    const int code = ratoon::train(options_, [&](Session& session) {
      Stream stream({.samples = 20, .global_batch = 8, .seed = 17, .source = "twenty"});
      if (has_epochs) session.track("stream", stream);
      if (has_epochs) session.follow(stream);
      for ([[maybe_unused]] const std::uint64_t step : session.steps(steps)) stream.advance();
    });
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(code, 0) << said;
    return said;
  }
  std::map<std::string, std::string> links() {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_ / "run"))
      if (entry.is_symlink())
        found[entry.path().filename()] = fs::read_symlink(entry.path()).string().substr(12, 11);
    return found;
  }
  std::vector<std::string> pointers() {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_ / "store" / "run"))
      if (entry.is_regular_file() && entry.path().filename() != checkpoint::kLockFile)
        found.push_back(entry.path().filename());
    std::sort(found.begin(), found.end());
    return found;
  }

  test::TemporaryFolder folder_;
  Options options_{
      .save_folder = "", .run_name = "run", .save_every = Every::steps(1), .keep_last = 3, .member = {}};
};

TEST_F(TrainNames, HaveTheEpochOfTheCheckpointAndLeaveNoneBehind) {
  options_.latest_name = "ep{epoch}-ba{batch}";
  train(5);
  // After 24, 32 and 40 samples.
  EXPECT_THAT(links(), ElementsAre(Pair("ep1-ba3", "s0000000003"), Pair("ep1-ba4", "s0000000004"),
                                   Pair("ep2-ba5", "s0000000005")));
}

TEST_F(TrainNames, OfPointersInStoresAreThoseOfTheCheckpointsThere) {
  options_.latest_name = "ep{epoch}-ba{batch}";
  options_.stores = {"file://" + (folder_ / "store").string()};
  options_.keep_last_in_stores = 2;
  train(5);
  // A slow store gets only the newest of the waiting checkpoints, so not all of the five may have been there.
  EXPECT_THAT(pointers(), AnyOf(ElementsAre("ep2-ba5"), ElementsAre(StartsWith("ep"), "ep2-ba5")));
}

TEST_F(TrainNames, OfOneEpochAreOneName) {
  options_.latest_name = "ep{epoch}";
  train(5);
  EXPECT_THAT(links(), ElementsAre(Pair("ep1", "s0000000004"), Pair("ep2", "s0000000005")));
  fs::remove(folder_ / "run" / "ep2");
  train(5);
  EXPECT_THAT(links(), ElementsAre(Key("ep1"), Pair("ep2", "s0000000005"))) << "made again by the next start";
}

TEST_F(TrainNames, WhereNothingHasEpochsItIsNumberNought) {
  options_.latest_name = "ep{epoch}";
  train(5, false);
  EXPECT_THAT(links(), ElementsAre(Pair("ep0", "s0000000005")));
}

}  // namespace
}  // namespace ratoon::train_names_test
