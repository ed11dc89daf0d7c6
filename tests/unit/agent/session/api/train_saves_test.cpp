// Saves that the program requests: the ticket of each, the kept checkpoints, and copies in a store.
#include <algorithm>
#include <functional>
#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/session/append_file.h>
#include <ratoon/stream.h>
#include <ratoon/train.h>

#include "tests/support/temporary_folder.h"

namespace ratoon {
namespace {

struct Table {
  double value = 0;
};

}  // namespace

template <>
struct TrackAdapter<Table> {
  static constexpr bool kIsWeights = true;
  static void check(Table&, const std::string&) {}
  static void save(Table& table, StateWriter& out) { out.number("value", table.value); }
  static void load(Table& table, StateReader& in) { in.number("value", table.value); }
};

}  // namespace ratoon

namespace ratoon::train_saves_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr auto kSoon = 60s;

class TrainSavesTest : public testing::Test {
 protected:
  TrainSavesTest() {
    options_.save_folder = (folder_ / "home").string();
    options_.stores = {"file://" + (folder_ / "store").string()};
  }
  // 40 steps, of which each tenth is saved; `act` is called in each before it ends.
  int train(const std::function<void(Session&, std::uint64_t)>& act) {
    testing::internal::CaptureStderr();
    const int code = ratoon::train(options_, [&](Session& session) {
      std::uint64_t sum = 0;
      session.track("sum", sum);
      for (const std::uint64_t step : session.steps(40)) {
        sum += step;
        act(session, step + 1);
      }
    });
    said_ = testing::internal::GetCapturedStderr();
    return code;
  }
  std::vector<std::string> files_of(const std::filesystem::path& place) {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(place))
      names.push_back(file.path().filename());
    std::ranges::sort(names);
    return names;
  }

  test::TemporaryFolder folder_;
  Options options_{.save_folder = "", .run_name = "run", .save_every = Every::steps(10), .member = {}};
  std::string said_;
};

TEST_F(TrainSavesTest, ATicketCanBeAwaitedUpToTheStores) {
  SaveTicket ticket;
  EXPECT_EQ(ticket.wait(SaveLevel::kStaged, kSoon).error().kind(), ErrorKind::kInvalid) << "of no save";
  ASSERT_EQ(train([&](Session& session, std::uint64_t step) {
              if (step == 5) {
                ticket = session.save();
                EXPECT_EQ(ticket.wait(SaveLevel::kStaged, 0s).error().kind(), ErrorKind::kTimeout)
                    << "the step has not ended";
              }
              if (step != 6) return;
              for (const auto level :
                   {SaveLevel::kStaged, SaveLevel::kWritten, SaveLevel::kCommitted, SaveLevel::kStored})
                EXPECT_TRUE(ticket.wait(level, kSoon));
              EXPECT_THAT(files_of(folder_ / "home/run/manifests"),
                          testing::ElementsAre("s0000000005.a0001.json"));
              EXPECT_THAT(files_of(folder_ / "store/run/manifests"),
                          testing::ElementsAre("s0000000005.a0001.json"));
            }),
            0)
      << said_;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "home/run/pins")) << "no reason was given to keep it";
}

TEST_F(TrainSavesTest, WhatTheProgramWantsKeptOutlivesAllThatRetentionKeeps) {
  options_.keep_last = 2;
  options_.keep_last_in_stores = 2;
  SaveTicket ticket;
  ASSERT_EQ(train([&](Session& session, std::uint64_t step) {
              // Each checkpoint is in the store before the next one comes: none is skipped.
              if (step % 5 == 1 && step > 1) {
                EXPECT_TRUE(ticket.wait(SaveLevel::kStored, kSoon));
              }
              if (step % 5 == 0) ticket = session.save(step == 5 ? "the lowest loss" : "");
            }),
            0)
      << said_;
  for (const char* place : {"home/run", "store/run"}) {
    EXPECT_THAT(
        files_of(folder_ / place / "manifests"),
        testing::ElementsAre("s0000000005.a0001.json", "s0000000035.a0001.json", "s0000000040.a0001.json"));
    EXPECT_EQ(test::read_text(folder_ / place / "pins/s0000000005.a0001.json"), "the lowest loss\n");
  }
}

// In a step that is saved in any case there is one save.
TEST_F(TrainSavesTest, AskedTwiceInAStepItIsOneSave) {
  std::vector<SaveTicket> tickets;
  ASSERT_EQ(train([&](Session& session, std::uint64_t step) {
              if (step != 10) return;
              tickets.push_back(session.save());
              tickets.push_back(session.save("the lowest loss"));
              tickets.push_back(session.save("another reason"));
            }),
            0)
      << said_;
  for (const SaveTicket& ticket : tickets) EXPECT_TRUE(ticket.wait(SaveLevel::kStored, 0s));
  EXPECT_EQ(test::read_text(folder_ / "home/run/pins/s0000000010.a0001.json"), "the lowest loss\n");
}

TEST_F(TrainSavesTest, TheBestArePinnedInTheFolderAndInTheStoreAndTheBeatenAreNot) {
  const auto distance = [](std::uint64_t step) { return step < 23 ? 23 - step : step - 23; };
  // A store that is slower than the saves gets only some of them, and keeps the best that it has.
  SaveTicket ticket;
  bool is_best = false;
  ASSERT_EQ(train([&](Session& session, std::uint64_t step) {
              if (is_best) {
                EXPECT_TRUE(ticket.wait(SaveLevel::kStored, kSoon));
              }
              is_best = session.save_best("distance", static_cast<double>(distance(step)), {.keep = 2});
              if (is_best) ticket = session.save();
            }),
            0)
      << said_;
  const std::vector<std::string> best{"s0000000022.a0001.json", "s0000000023.a0001.json"};
  EXPECT_EQ(files_of(folder_ / "home" / "run" / "pins"), best);
  EXPECT_EQ(files_of(folder_ / "store" / "run" / "pins"), best);
  EXPECT_THAT(said_, HasSubstr("best: distance 0 at step 23"));
}

// The earlier checkpoints are in the store alone. The store has each of the best: none of them is skipped.
TEST_F(TrainSavesTest, TheBestCheckpointStaysWhenTheRunContinuesOnAnotherMachine) {
  const std::vector<double> losses{0.5, 0.25, 0.9, 0.8, 0.7, 0.6, 0.55, 0.9};
  const auto train_to = [&](std::uint64_t end) {
    std::vector<std::uint64_t> best;
    testing::internal::CaptureStderr();
    EXPECT_EQ(ratoon::train(options_,
                            [&](Session& session) {
                              std::uint64_t sum = 0;
                              session.track("sum", sum);
                              SaveTicket ticket;
                              bool is_best = false;
                              for (const std::uint64_t step : session.steps(end)) {
                                if (is_best) {
                                  EXPECT_TRUE(ticket.wait(SaveLevel::kStored, kSoon));
                                }
                                sum += step;
                                is_best = session.save_best("loss", losses.at(step));
                                if (!is_best) continue;
                                ticket = session.save();
                                best.push_back(step + 1);
                              }
                            }),
              0);
    said_ = testing::internal::GetCapturedStderr();
    return best;
  };
  EXPECT_EQ(train_to(4), (std::vector<std::uint64_t>{1, 2}));
  std::filesystem::remove_all(folder_ / "home");
  EXPECT_EQ(train_to(8), std::vector<std::uint64_t>()) << said_;
  EXPECT_EQ(files_of(folder_ / "store/run/pins"), (std::vector<std::string>{"s0000000002.a0001.json"}));
  EXPECT_THAT(said_, HasSubstr("best: loss 0.25 at step 2"));
}

TEST_F(TrainSavesTest, TheLastEpochIsComparedInItsHook) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(ratoon::train(options_,
                          [&](Session& session) {
                            Stream stream({.samples = 8, .global_batch = 4});
                            session.track("stream", stream);
                            session.follow(stream);
                            session.on_epoch_end([&](std::uint64_t epoch) {
                              EXPECT_TRUE(session.save_best("loss", 9 - static_cast<double>(epoch)));
                            });
                            for ([[maybe_unused]] const auto step : session.steps(Until::epochs(3)))
                              static_cast<void>(stream.take(0, 1));
                          }),
            0);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("best: loss 7 at step 6"));
  EXPECT_EQ(files_of(folder_ / "home/run/pins"), (std::vector<std::string>{"s0000000006.a0001.json"}));
}

TEST_F(TrainSavesTest, WeightsThatAreNoneAreNotExported) {
  for (const bool is_weight : {true, false}) {
    options_.run_name = is_weight ? "weights" : "none";
    Table table;
    EXPECT_EQ(ratoon::train(options_,
                            [&](Session& session) {
                              session.track("table", table, {.is_weight = is_weight});
                              for ([[maybe_unused]] const auto step : session.steps(2)) table.value += 1;
                            }),
              0);
    EXPECT_EQ(std::filesystem::exists(folder_ / "home" / options_.run_name / "weights.safetensors"),
              is_weight);
  }
}

TEST_F(TrainSavesTest, TheWeightsFileNamesTheBest) {
  Table table;
  EXPECT_EQ(ratoon::train(options_,
                          [&](Session& session) {
                            session.track("table", table);
                            for (const std::uint64_t step : session.steps(4))
                              session.save_best("loss",
                                                step < 2 ? 0.5 - 0.25 * static_cast<double>(step) : 1);
                          }),
            0);
  EXPECT_THAT(test::read_text(folder_ / "home/run/weights.safetensors"),
              HasSubstr(R"("ratoon.best":"loss 0.25 at step 2")"));
}

TEST_F(TrainSavesTest, MemoryOfTheProgramIsRestoredInItsPlace) {
  const auto train_to = [&](std::uint64_t steps, const TensorShape& shape) {
    std::vector<float> memory(6);
    testing::internal::CaptureStderr();
    const int code = ratoon::train(options_, [&](Session& session) {
      const std::span<float> all(memory);
      session.track("memory", all, {.shape = shape, .is_weight = true});
      for (const std::uint64_t step : session.steps(steps))
        for (float& one : memory) one = one * 0.5F + static_cast<float>(step);
    });
    said_ = testing::internal::GetCapturedStderr();
    return std::pair(code, memory);
  };
  const auto whole = train_to(12, {2, 3});
  EXPECT_EQ(whole.first, 0) << said_;
  options_.run_name = "in two parts";
  EXPECT_EQ(train_to(5, {2, 3}).first, 0) << said_;
  EXPECT_EQ(train_to(12, {2, 3}), whole) << said_;
  EXPECT_EQ(train_to(14, {4}).first, 82);
  EXPECT_THAT(said_, HasSubstr("tracked 'memory': its shape has 4 numbers, but its memory has 6"));
  EXPECT_EQ(train_to(14, {3, 2}).first, 82) << "the checkpoint has {2, 3}";
}

// A row for each step, also where steps are made again after a failure, and after one before the first save.
TEST_F(TrainSavesTest, AFileOfTheProgramHasEachRowOnce) {
  const auto train_until = [&](std::uint64_t fails_in) {
    testing::internal::CaptureStderr();
    const int code = ratoon::train(options_, [&](Session& session) {
      AppendFile table(session, "table.csv");
      session.track("table", table);
      EXPECT_EQ(session.resumes_at(), fails_in == 100 ? 20u : 0u);
      if (session.resumes_at() == 0) table.write("step\n");
      for (const std::uint64_t step : session.steps(40)) {
        if (step == fails_in) throw std::runtime_error("the test's own");
        table.write(std::to_string(step) + "\n");
      }
    });
    said_ = testing::internal::GetCapturedStderr();
    return code;
  };
  std::string rows = "step\n";
  for (int step = 0; step < 40; ++step) rows += std::to_string(step) + "\n";
  EXPECT_EQ(train_until(5), 1);
  EXPECT_EQ(train_until(27), 1);
  EXPECT_EQ(train_until(100), 0) << said_;
  EXPECT_EQ(test::read_text(folder_ / "home/run/files/table.csv"), rows);
  EXPECT_EQ(test::read_text(folder_ / "home/run/files/table.csv.old"), "step\n0\n1\n2\n3\n4\n");
}

TEST_F(TrainSavesTest, AFileOfTheProgramIsKeptWhenTheRunBeginsAgain) {
  options_.overwrite = true;
  for (const std::string row : {"first", "second", "third"}) {
    testing::internal::CaptureStderr();
    const int code = ratoon::train(options_, [&](Session& session) {
      AppendFile table(session, "table.csv");
      session.track("table", table);
      table.write(row);
      for ([[maybe_unused]] const std::uint64_t step : session.steps(20)) continue;
    });
    said_ = testing::internal::GetCapturedStderr();
    EXPECT_EQ(code, 0) << said_;
  }
  EXPECT_EQ(test::read_text(folder_ / "home/run/files/table.csv"), "third");
  EXPECT_EQ(test::read_text(folder_ / "home/run/files/table.csv.old"), "first");
  EXPECT_EQ(test::read_text(folder_ / "home/run/files/table.csv.old.1"), "second");
}

TEST_F(TrainSavesTest, AFileOutsideOfTheRunIsRefused) {
  for (const std::string name : {"../a", "/a", "", "..", "a/b"}) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(ratoon::train(options_, [&](Session& session) { const AppendFile table(session, name); }), 82);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("is not the name of a file"));
  }
}

TEST_F(TrainSavesTest, WhatIsAskedForBeforeTheLoopIsRefused) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(ratoon::train(options_, [](Session& session) { static_cast<void>(session.save()); }), 82);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("save() must be called in the loop over steps()"));
}

TEST_F(TrainSavesTest, AnAttemptThatEndsBeforeTheStepSaysSo) {
  SaveTicket ticket;
  EXPECT_NE(train([&](Session& session, std::uint64_t step) {
              if (step != 5) return;
              ticket = session.save();
              throw std::runtime_error("the trainer's own fault");
            }),
            0);
  const auto reached = ticket.wait(SaveLevel::kStaged, kSoon);
  ASSERT_FALSE(reached);
  EXPECT_EQ(reached.error().kind(), ErrorKind::kCancelled);
  EXPECT_THAT(reached.error().message(), HasSubstr("the attempt ended before the step did"));
}

}  // namespace
}  // namespace ratoon::train_saves_test
