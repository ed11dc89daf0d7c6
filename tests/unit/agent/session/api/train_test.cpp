// train() from end to end in one process, alone: files only, no coordinator.
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/train.h>

#include "tests/support/change_world.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::train_test {
namespace {

using testing::HasSubstr;

class TrainTest : public testing::Test {
 protected:
  Options options() {
    options_.save_folder = folder_.path().string();
    return options_;
  }
  int train(const std::function<void(Session&)>& function) {
    testing::internal::CaptureStderr();
    const int code = ratoon::train(options(), function);
    said_ = testing::internal::GetCapturedStderr();
    return code;
  }
  // Adds up step numbers until `total`, and notes the step and the sum with which it began. Throws after
  // `throws_after` steps.
  int count(std::uint64_t total, std::uint64_t throws_after = ~0ULL) {
    return train([&, this](Session& session) {
      std::uint64_t sum = 0;
      session.track("sum", sum);
      bool is_first = true;
      for (const std::uint64_t step : session.steps(total)) {
        if (std::exchange(is_first, false)) began_ = {session.attempt(), step, sum};
        if (step == throws_after) throw std::runtime_error("the data is gone");
        sum += step;
      }
      sum_ = sum;
    });
  }
  std::vector<std::filesystem::path> files(const std::string& kind) {
    std::vector<std::filesystem::path> found;
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder_ / "run" / kind))
      if (file.is_regular_file()) found.push_back(file.path());
    std::sort(found.begin(), found.end());
    return found;
  }
  static void damage(const std::filesystem::path& path) {
    std::string text = test::read_text(path);
    text[text.size() / 2] = static_cast<char>(text[text.size() / 2] ^ 1);
    test::write_text(path, text);
  }
  struct Began {
    std::uint64_t attempt = 0;
    std::uint64_t step = 0;
    std::uint64_t sum = 0;
    friend bool operator==(const Began&, const Began&) = default;
  };

  test::TemporaryFolder folder_;
  Options options_{
      .save_folder = "", .run_name = "run", .save_every = Every::steps(10), .keep_last = 2, .member = {}};
  std::string said_;
  Began began_;
  std::uint64_t sum_ = 0;
};

constexpr std::uint64_t sum_below(std::uint64_t n) {
  return n * (n - 1) / 2;
}

TEST_F(TrainTest, RunsToItsEndAndSavesIt) {
  EXPECT_EQ(count(25), 0);
  EXPECT_EQ(began_, (Began{1, 0, 0}));
  EXPECT_EQ(sum_, sum_below(25));
  EXPECT_EQ(files("manifests").size(), 2u) << "keep_last";
  EXPECT_EQ(files("manifests").back().filename(), "s0000000025.a0001.json");
}

TEST_F(TrainTest, LeavesARecordOfItsCompletionWhereAContainerWould) {
  const auto path = folder_ / "termination-log";
  test::write_text(path,
                   "something longer that an earlier start of this container has left behind, as it may be");
  options_.member.termination_file = path.string();
  EXPECT_EQ(count(20, 15), 1);
  EXPECT_THAT(test::read_text(path), HasSubstr("longer")) << "only completion is recorded";
  EXPECT_EQ(count(20), 0);
  EXPECT_THAT(test::read_text(path), testing::StartsWith(R"({"attempt":2,"checkpoint":{"attempt":2,)"));
  EXPECT_THAT(test::read_text(path), testing::EndsWith(R"("step":20},"step":20,"version":1})"));

  options_.member.local_rank = 1;
  EXPECT_EQ(count(30), 0);
  EXPECT_THAT(test::read_text(path), HasSubstr("20")) << "of several processes the first one writes it";

  options_.member.local_rank = 0;
  options_.member.termination_file = (folder_ / "no" / "folder").string();
  EXPECT_EQ(count(40), 0) << "the completion is still reported to the coordinator";
  EXPECT_THAT(said_, HasSubstr("RATOON_TERMINATION_FILE"));
}

TEST_F(TrainTest, GoesOnFromTheLastCheckpointAfterAnException) {
  EXPECT_EQ(count(50, 37), 1);
  EXPECT_THAT(said_, HasSubstr("the training function threw std::runtime_error: the data is gone"));
  EXPECT_EQ(count(50), 0);
  EXPECT_EQ(began_, (Began{2, 30, sum_below(30)}));
  EXPECT_EQ(sum_, sum_below(50)) << "as if nothing had happened";
}

TEST_F(TrainTest, TheUserSaysHowLong) {
  options_.max_duration = Until::steps(15);
  EXPECT_EQ(count(50), 0);
  EXPECT_EQ(sum_, sum_below(15));
  options_.max_duration = Until::epochs(1);
  EXPECT_EQ(count(50), 82);
  EXPECT_THAT(said_, HasSubstr("call session.follow(stream)"));
}

TEST_F(TrainTest, ARunThatIsOverIsDoneAtOnce) {
  ASSERT_EQ(count(20), 0);
  const auto before = files("");
  EXPECT_EQ(count(20), 0);
  EXPECT_EQ(sum_, sum_below(20));
  EXPECT_EQ(files(""), before);
  EXPECT_EQ(count(30), 0) << "and may be prolonged";
  EXPECT_EQ(began_, (Began{2, 20, sum_below(20)}));
}

TEST_F(TrainTest, WhatIsThereBeforeTheFirstStep) {
  EXPECT_EQ(train([](Session& session) {
              EXPECT_EQ(session.rank(), 0u);
              EXPECT_EQ(session.world_size(), 1u);
              EXPECT_EQ(session.rendezvous().port, 0) << "nobody to meet";
              EXPECT_EQ(session.rendezvous().listening_fd, -1);
              EXPECT_EQ(session.requests(), 0u);
              EXPECT_NO_THROW(session.check());
              static_cast<void>(session.steps(0));
            }),
            0);
}

TEST_F(TrainTest, MistakesInTheProgramAreConfigurationErrors) {
  const struct {
    const char* sentence;
    std::function<void(Session&)> function;
  } cases[] = {
      {"'a' is tracked twice",
       [](Session& session) {
         int a = 0;
         session.track("a", a);
         session.track("a", a);
       }},
      {"'b' is tracked too late",
       [](Session& session) {
         int b = 0;
         static_cast<void>(session.steps(5));
         session.track("b", b);
       }},
      {"steps() was called twice",
       [](Session& session) {
         static_cast<void>(session.steps(5));
         static_cast<void>(session.steps(5));
       }},
      {"a tracked object needs a name",
       [](Session& session) {
         int c = 0;
         session.track("", c);
       }},
      {"a tracked object needs a name",  // what safetensors keeps for itself
       [](Session& session) {
         int d = 0;
         session.track("__metadata__", d);
       }},
      {"a tracked object needs a name",
       [](Session& session) {
         int e = 0;
         session.track("\xff", e);
       }},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(train(c.function), 82) << c.sentence;
    EXPECT_THAT(said_, HasSubstr(c.sentence));
  }
}

TEST_F(TrainTest, TheStateOfAnotherProgramIsNotTaken) {
  ASSERT_EQ(count(20), 0);
  EXPECT_EQ(train([](Session& session) {
              std::uint64_t other = 0;
              session.track("other", other);
              for (const std::uint64_t step : session.steps(30)) other += step;
            }),
            82);
  EXPECT_THAT(
      said_,
      HasSubstr(
          "the checkpoint of step 20 has no state named 'other': the checkpoint is of another program"));
  EXPECT_EQ(train([](Session& session) {
              std::uint8_t sum = 0;
              session.track("sum", sum);
              static_cast<void>(session.steps(30));
            }),
            82);
  EXPECT_THAT(said_,
              HasSubstr("tracked 'sum': tensor 'sum' is U64 of shape [] in the checkpoint of step 20 and U8 "
                        "of shape [] in the program: the checkpoint belongs to another program"));
}

// mosaicml/streaming 437, litData 775: the state was in the checkpoint, and the program did not use it.
TEST_F(TrainTest, AStateThatNothingTracksIsNotLeftOutInSilence) {
  ASSERT_EQ(count(20), 0);
  EXPECT_EQ(train([](Session& session) {
              for ([[maybe_unused]] const std::uint64_t step : session.steps(30)) {
              }
            }),
            82);
  EXPECT_THAT(said_,
              HasSubstr("the checkpoint of step 20 has a state named 'sum' that the program does not track"));
}

class Journal final : public Stateful {
 public:
  std::string save_state() const override { return text; }
  void load_state(std::string_view state) override {
    if (state.starts_with("torn")) throw std::runtime_error("torn page");
    text = state;
  }
  std::string text;
};

TEST_F(TrainTest, ObjectsKeepTheirOwnState) {
  const auto write = [this](std::uint64_t total, const std::string& word, std::string& seen) {
    return train([&](Session& session) {
      Journal journal;
      session.track("journal", journal);
      for ([[maybe_unused]] const auto step : session.steps(total)) {
        seen = journal.text;
        journal.text = word;
      }
    });
  };
  std::string seen;
  EXPECT_EQ(write(10, std::string("a\0b", 3), seen), 0);
  EXPECT_EQ(write(20, "torn", seen), 0);
  EXPECT_EQ(seen, "torn") << "of the step before";
  EXPECT_EQ(write(30, "", seen), 1) << "an object that does not take its state back";
  EXPECT_THAT(said_, HasSubstr("torn page"));
}

TEST_F(TrainTest, ADamagedNewestManifestMeansTheOneBefore) {
  ASSERT_EQ(count(30), 0);
  damage(files("manifests").back());
  EXPECT_EQ(count(30), 0);
  EXPECT_EQ(began_, (Began{2, 20, sum_below(20)}));
  EXPECT_EQ(sum_, sum_below(30));
}

// The number of a damaged checkpoint is taken: without a new attempt its name would block saves for ever.
TEST_F(TrainTest, ADamagedManifestOfANewerAttemptIsNotInTheWay) {
  ASSERT_EQ(count(20), 0);
  ASSERT_EQ(count(30), 0);
  damage(files("manifests").back());
  EXPECT_EQ(count(30), 0) << said_;
  EXPECT_EQ(began_, (Began{3, 20, sum_below(20)}));
  EXPECT_EQ(files("manifests").back().filename(), "s0000000030.a0003.json");
}

TEST_F(TrainTest, WhenAllCheckpointsAreDamagedItNeverStartsFromZero) {
  ASSERT_EQ(count(30), 0);
  for (const auto& file : files("manifests")) damage(file);
  EXPECT_EQ(count(30), 83);
  const std::string command = "`ratoon checkpoint verify " + (folder_ / "run`").string();
  EXPECT_THAT(said_, HasSubstr("no checkpoint can be read; Ratoon does not start the run over by itself: " +
                               command));
}

TEST_F(TrainTest, ADamagedPackIsNotLoaded) {
  ASSERT_EQ(count(30), 0);
  for (const auto& file : files("packs/a0001")) damage(file);
  EXPECT_EQ(count(30), 83);
  EXPECT_THAT(said_, HasSubstr("its header is not the one that was committed"));
  EXPECT_EQ(files("manifests").size(), 1u) << "the last one stays; the other is in quarantine";
  EXPECT_EQ(count(30), 83) << "and the run is not a new one";
}

TEST_F(TrainTest, WhatTheSystemDoesNotReadCostsAFallbackAndNotTheRun) {
  ASSERT_EQ(count(30), 0);
  const auto newest = files("packs/a0001").back();
  std::filesystem::remove(newest);
  std::filesystem::create_symlink("elsewhere", newest);  // no link is followed
  EXPECT_EQ(count(40), 0);
  EXPECT_THAT(said_, HasSubstr("an older checkpoint is requested"));
}

TEST_F(TrainTest, ASecondRunInTheSameFolderIsRefused) {
  EXPECT_EQ(train([this](Session& session) {
              std::uint64_t sum = 0;
              session.track("sum", sum);
              static_cast<void>(session.steps(0));
              const int code = ratoon::train(options(), [](Session&) {});
              EXPECT_EQ(code, 82);
            }),
            0);
  EXPECT_THAT(said_, HasSubstr("another process trains in " + (folder_ / "run").string()));
  EXPECT_EQ(count(5), 0) << "the lock is free again";
}

TEST_F(TrainTest, ALockThatIsALinkMakesNothingElsewhere) {
  std::filesystem::create_directory(folder_ / "run");
  std::filesystem::create_symlink(folder_ / "elsewhere", folder_ / "run/lock");
  EXPECT_EQ(train([](Session&) { FAIL(); }), 82);
  EXPECT_THAT(
      said_,
      HasSubstr(
          "run/lock is a symbolic link, and links in a run's folder are not followed: remove the link"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "elsewhere"));
}

TEST_F(TrainTest, OptionsThatAreWrongAndFoldersThatCannotBeAreSaid) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(ratoon::train(Error(ErrorKind::kInvalid, "no folder to save to"), [](Session&) { FAIL(); }), 82);
  EXPECT_EQ(ratoon::train(Options(), [](Session&) { FAIL(); }), 82) << "a program's own are checked, too";
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "ratoon: no folder to save to\nratoon: no folder to save to: pass --save-folder FOLDER or set "
            "RATOON_SAVE_FOLDER\n");
  test::write_text(folder_ / "run", "a file");
  EXPECT_EQ(train([](Session&) { FAIL(); }), 84);
}

TEST_F(TrainTest, AProgramMayLeaveWithItsOwnFailure) {
  EXPECT_EQ(train([](Session&) { throw Failure(84, "the data cannot be read"); }), 84);
  EXPECT_TRUE(said_.ends_with("ratoon: the data cannot be read\n")) << said_;
}

TEST_F(TrainTest, WhatIsLostInTheFolderComesFromAStore) {
  options_.stores = {(folder_ / "store").string()};
  options_.keep_last_in_stores = 3;
  ASSERT_EQ(count(30), 0) << said_;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "store" / "run" / "manifests" / "s0000000030.a0001.json"));
  EXPECT_EQ(std::filesystem::read_symlink(folder_ / "run" / "latest-rank0"),
            "packs/a0001/s0000000030/r0000.safetensors");
  std::filesystem::remove_all(folder_ / "run");
  EXPECT_EQ(count(40), 0) << said_;
  EXPECT_EQ(began_, (Began{2, 30, sum_below(30)}));
  EXPECT_EQ(sum_, sum_below(40));
}

TEST_F(TrainTest, BeginningAnewSetsAsideAndDeletesNothing) {
  ASSERT_EQ(count(20), 0);
  options_.overwrite = true;
  EXPECT_EQ(count(10), 0);
  EXPECT_EQ(began_, (Began{2, 0, 0}));
  EXPECT_EQ(files("aside").size(), 2u);
  options_.overwrite = false;
  EXPECT_EQ(count(30), 0);
  EXPECT_EQ(began_, (Began{3, 10, sum_below(10)}));
}

TEST_F(TrainTest, AProgramWithoutWeightsCannotBeginWithThem) {
  ASSERT_EQ(count(20), 0);
  options_.run_name = "other";
  options_.load_from = (folder_ / "run").string();
  EXPECT_EQ(count(10), 82);
  EXPECT_THAT(said_, HasSubstr("(--load-from), but no tracked object has weights: track the model"));
  options_.load_from = (folder_ / "nowhere").string();
  EXPECT_EQ(count(10), 82);
  EXPECT_THAT(said_, HasSubstr("nowhere) cannot be loaded: "));
}

// Only the world's changes call the function again.
TEST_F(TrainTest, InterruptedMeansOnceMoreFromTheLastCheckpoint) {
  int calls = 0;
  std::uint64_t sum_at_end = 0;
  EXPECT_EQ(train([&](Session& session) {
              ++calls;
              std::uint64_t sum = 0;
              session.track("sum", sum);
              for (const std::uint64_t step : session.steps(30)) {
                if (calls == 1 && step == 25) test::change_world(session, "the world changed");
                if (calls == 2 && step < 20) ADD_FAILURE() << "step " << step << " is done already";
                sum += step;
              }
              sum_at_end = sum;
            }),
            0);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(sum_at_end, sum_below(30));
  EXPECT_THAT(said_, HasSubstr("ratoon: attempt 1 ends at step 25: the world changed"));
}

}  // namespace
}  // namespace ratoon::train_test
