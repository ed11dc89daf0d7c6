// A run with foreign files in its folder, from end to end in one process: the foreign files stay, and no save
// fails because of them.
#include <functional>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/train.h>

#include "agent/src/checkpoint/format/manifest.h"
#include "agent/src/checkpoint/format/sealed_json.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::train_strange_folder_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class TrainStrangeFolderTest : public testing::Test {
 protected:
  // The step that came first; 100 are made in all, and saved every 10.
  int train() {
    options_.save_folder = folder_.path().string();
    began_ = 100;
    testing::internal::CaptureStderr();
    const int code = ratoon::train(options_, [&](Session& session) {
      std::uint64_t sum = 0;
      session.track("sum", sum);
      for (const std::uint64_t step : session.steps(100)) {
        began_ = std::min(began_, step);
        sum += step;
        on_step_(step);
      }
    });
    said_ = testing::internal::GetCapturedStderr();
    return code;
  }
  void plant(const std::string& name) {
    fs::create_directories((run_ / name).parent_path());
    test::write_text(run_ / name, "mine");
  }
  std::size_t times_said(const std::string& words) const {
    std::size_t times = 0;
    for (auto at = said_.find(words); at != std::string::npos; at = said_.find(words, at + 1)) ++times;
    return times;
  }

  test::TemporaryFolder folder_;
  const fs::path run_ = folder_ / "run";
  Options options_{.save_folder = "", .run_name = "run", .save_every = Every::steps(10), .member = {}};
  std::function<void(std::uint64_t)> on_step_ = [](std::uint64_t) {};
  std::uint64_t began_ = 100;
  std::string said_;
};

TEST_F(TrainStrangeFolderTest, AnAttemptThatNobodyCouldHaveMadeIsNotCountedOn) {
  const std::string pack = "packs/a9007199254740991/s0000000010/r0000.safetensors";
  plant(pack);
  for (std::uint64_t start = 1; start <= 2; ++start) {
    EXPECT_EQ(train(), 0) << said_;
    EXPECT_EQ(times_said("/packs/a9007199254740991 has a number that no run reaches"), 1u) << said_;
    EXPECT_EQ(test::read_text(run_ / pack), "mine");
  }
  EXPECT_TRUE(fs::exists(run_ / "manifests" / "s0000000100.a0001.json"));
}

TEST_F(TrainStrangeFolderTest, AfterTheLastAttemptThatCanBeCountedNoneBegins) {
  plant("packs/a1000000000/s0000000010/r0000.safetensors");
  EXPECT_EQ(train(), 82);
  EXPECT_THAT(said_, HasSubstr("this would be attempt 1000000001 of the run"));
  EXPECT_THAT(said_, HasSubstr("a file in " + run_.string() + " has that number"));
  EXPECT_FALSE(fs::exists(run_ / "packs" / "a1000000001"));
}

TEST_F(TrainStrangeFolderTest, ACheckpointWithATimeThatNoRunCanHaveIsPassedOver) {
  ASSERT_EQ(train(), 0);
  const fs::path newest = run_ / "manifests" / "s0000000100.a0001.json";
  auto manifest = checkpoint::decode_with_checksum(test::read_text(newest), std::size_t{1} << 16).value();
  for (const std::uint64_t time : {(1ULL << 62) + 1, (1ULL << 63) - 1}) {
    manifest["run"]["trained_nanoseconds"] = time;
    test::write_text(newest, checkpoint::encode_with_checksum(manifest));
    EXPECT_EQ(train(), 0) << said_;
    EXPECT_EQ(began_, 90u);
    EXPECT_THAT(said_, Not(HasSubstr("missed")));
    fs::remove(run_ / "manifests" / "s0000000100.a0002.json");
  }
}

TEST_F(TrainStrangeFolderTest, ACheckpointOfTheLongestTimeThereIsIsGoneOnWith) {
  ASSERT_EQ(train(), 0);
  const fs::path newest = run_ / "manifests" / "s0000000090.a0001.json";
  auto manifest = checkpoint::decode_with_checksum(test::read_text(newest), std::size_t{1} << 16).value();
  manifest["run"]["trained_nanoseconds"] = checkpoint::kTrainedNanosecondsMax;
  manifest["run"]["samples"] = checkpoint::kNumberMax;
  test::write_text(newest, checkpoint::encode_with_checksum(manifest));
  fs::remove(run_ / "manifests" / "s0000000100.a0001.json");
  EXPECT_EQ(train(), 0) << said_;
  EXPECT_EQ(began_, 90u);
  const auto last =
      checkpoint::decode_manifest(test::read_text(run_ / "manifests" / "s0000000100.a0002.json"));
  ASSERT_TRUE(last) << last.error().message();
  EXPECT_EQ(last->run->trained_nanoseconds, checkpoint::kTrainedNanosecondsMax);
}

// Files of this run under another path, and of another run.
TEST_F(TrainStrangeFolderTest, FinalWeightsInThePlaceOfWhatARunMadeAreRefusedAtTheStart) {
  ASSERT_EQ(train(), 0);
  fs::create_directory_symlink(run_, folder_ / "link");
  options_.run_name = "other";
  for (const std::string name : {"lock", "manifests/s0000000100.a0001.json", "claims/c0000000001.txt"}) {
    for (const fs::path& folder : {run_, folder_ / "link"}) {
      const std::string before = name.starts_with("manifests") ? test::read_text(run_ / name) : "";
      options_.final_weights = (folder / name).string();
      EXPECT_EQ(train(), 82) << options_.final_weights;
      EXPECT_THAT(said_,
                  HasSubstr("--final-weights " + options_.final_weights + " is a name that a run uses"));
      if (!before.empty()) {
        EXPECT_EQ(test::read_text(run_ / name), before);
      }
    }
  }
  options_.final_weights = (run_ / "other.safetensors").string();
  EXPECT_EQ(train(), 0) << said_;
}

class TrainLatestTest : public TrainStrangeFolderTest, public testing::WithParamInterface<const char*> {};

TEST_P(TrainLatestTest, WhatIsAPersonsOwnInPlaceOfTheLinkIsSaidOnceAndTheLinkComesWhenItIsGone) {
  plant(GetParam());
  const fs::path link = run_ / "latest-rank0";
  on_step_ = [&](std::uint64_t step) {
    if (step == 95) fs::remove_all(link);
  };
  EXPECT_EQ(train(), 0) << said_;
  EXPECT_EQ(times_said("the link to the newest checkpoint could not be updated: " + link.string()), 1u)
      << said_;
  EXPECT_EQ(fs::read_symlink(link), "packs/a0001/s0000000100/r0000.safetensors");
}

INSTANTIATE_TEST_SUITE_P(Each, TrainLatestTest, testing::Values("latest-rank0", "latest-rank0/notes.txt"));

TEST_F(TrainStrangeFolderTest, ADamagedRecordOfARollbackIsSaidWithTheWayOn) {
  ASSERT_EQ(train(), 0);
  plant("rollbacks/a0002.json");
  EXPECT_EQ(train(), 83);
  EXPECT_THAT(said_, HasSubstr("run/rollbacks/a0002.json"));
  EXPECT_THAT(said_, HasSubstr("If another place of the run, such as a store, has an undamaged copy"));
  fs::remove(run_ / "rollbacks/a0002.json");
  EXPECT_EQ(train(), 0) << said_;
}

// As after a copy that has the packs and the links, and neither the manifests nor the history.
TEST_F(TrainStrangeFolderTest, ALinkAloneShowsThatManifestsAreLost) {
  ASSERT_EQ(train(), 0);
  for (const char* name : {"manifests", "packs/committed.a0001", "history"}) fs::remove_all(run_ / name);
  EXPECT_EQ(train(), 83);
  EXPECT_THAT(said_, HasSubstr("run/latest-rank0 leads to a checkpoint, but there is no manifest of it in"));
  EXPECT_EQ(began_, 100u) << "no step is made";
  fs::remove(run_ / "latest-rank0");
  fs::remove_all(run_ / "packs");
  EXPECT_EQ(train(), 0) << said_;
}

// Before there was a file for this fact, only the history showed that a commit had been made.
TEST_F(TrainStrangeFolderTest, AnOlderRunThatLostItsManifestsIsNotBegunAnew) {
  const auto lose = [&] {
    for (const char* name : {"manifests", "latest-rank0", "packs/committed.a0002"})
      fs::remove_all(run_ / name);
  };
  on_step_ = [](std::uint64_t step) {
    if (step == 55) throw std::runtime_error("killed");
  };
  EXPECT_EQ(train(), 1);
  on_step_ = [](std::uint64_t) {};
  EXPECT_EQ(train(), 0);
  EXPECT_EQ(began_, 50u) << "the history says that attempt 2 went on";
  lose();
  EXPECT_EQ(train(), 83);
  EXPECT_THAT(said_, HasSubstr("has packs of checkpoints that were committed, but there is no manifest in"));
  EXPECT_EQ(began_, 100u) << "no step is made";
  fs::remove_all(run_ / "packs");
  EXPECT_EQ(train(), 0) << said_;
  EXPECT_EQ(began_, 0u) << "as the sentence says";
}

}  // namespace
}  // namespace ratoon::train_strange_folder_test
