// The reaction of train() to a function that returns before the run's end: a run is complete at its end, or
// after finish(), and only with a committed checkpoint of its last step.
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/data_loader.h>
#include <ratoon/failure.h>
#include <ratoon/stream.h>
#include <ratoon/train.h>

#include "tests/support/change_world.h"
#include "tests/support/numbers_dataset.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::train_returns_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::atomic<bool> was_told_to_stop{false};

class TrainReturnsTest : public testing::Test {
 protected:
  TrainReturnsTest() {
    options_.save_folder = folder_.path().string();
    options_.member.termination_file = (folder_ / "record").string();
  }
  int train(const std::function<void(Session&)>& function) {
    testing::internal::CaptureStderr();
    const int code = ratoon::train(options_, function);
    said_ = testing::internal::GetCapturedStderr();
    return code;
  }
  // `act` is called in each step before it ends, and returns whether the loop goes on.
  int train_while(const std::function<bool(Session&, std::uint64_t)>& act, std::uint64_t total = 100) {
    return train([&](Session& session) {
      std::uint64_t sum = 0;
      session.track("sum", sum);
      for (const std::uint64_t step : session.steps(total)) {
        if (!act(session, step)) break;
        sum += step;
      }
    });
  }
  std::string record() const { return test::read_text(folder_ / "record"); }
  std::vector<std::string> manifests() const {
    std::vector<std::string> names;
    const auto place = folder_ / "run" / "manifests";
    if (!std::filesystem::exists(place)) return names;
    for (const auto& file : std::filesystem::directory_iterator(place))
      names.push_back(file.path().filename());
    std::ranges::sort(names);
    return names;
  }

  test::TemporaryFolder folder_;
  Options options_{.save_folder = "", .run_name = "run", .save_every = Every::steps(10), .member = {}};
  std::string said_;
};

TEST_F(TrainReturnsTest, BreakIsNoEndOfTheRun) {
  EXPECT_EQ(train_while([](Session&, std::uint64_t step) { return step != 15; }), 82);
  EXPECT_THAT(said_, HasSubstr("the training function returned at step 15 of 100: to end the run early, call "
                               "finish() and let the loop over steps() end by itself; the last save "
                               "is that of step 10\n"));
  EXPECT_THAT(record(), IsEmpty());
  std::uint64_t began = ~0ULL;
  EXPECT_EQ(train_while([&](Session&, std::uint64_t step) {
              began = std::min(began, step);
              return true;
            }),
            0);
  EXPECT_EQ(began, 10u) << "the same command goes on from the last save";
}

TEST_F(TrainReturnsTest, WhatTheFunctionHadIsNotTouchedAfterIt) {
  EXPECT_EQ(train([](Session& session) {
              auto sum = std::make_unique<std::uint64_t>(0);  // gone when the function has returned
              session.track("sum", *sum);
              for (const std::uint64_t step : session.steps(100)) {
                if (step == 15) break;
                *sum += step;
              }
            }),
            82);
  EXPECT_EQ(manifests().size(), 1u);
}

TEST_F(TrainReturnsTest, NorIsReturnBeforeTheFirstStep) {
  EXPECT_EQ(train([](Session&) {}), 82);
  EXPECT_THAT(said_, HasSubstr("the training function returned before its first step: call steps()"));
  EXPECT_THAT(record(), IsEmpty());
}

TEST_F(TrainReturnsTest, NorIsAnExceptionOfTheProgramThatIsCaughtAroundTheLoop) {
  EXPECT_EQ(train([](Session& session) {
              try {
                for (const std::uint64_t step : session.steps(100))
                  if (step == 15) throw std::runtime_error("a bad batch");
              } catch (const std::exception&) {
              }
            }),
            82);
  EXPECT_THAT(said_, HasSubstr("returned at step 15 of 100: to end the run early, call finish()"));
  EXPECT_THAT(record(), IsEmpty());
}

TEST_F(TrainReturnsTest, NorIsAnEndInEpochsOrTime) {
  EXPECT_EQ(train([](Session& session) {
              for (const std::uint64_t step : session.steps(Until::duration(std::chrono::hours(1))))
                if (step == 2) return;
            }),
            82);
  EXPECT_THAT(said_, HasSubstr("returned at step 2, before 1h: to end the run early, call finish()"));
}

TEST_F(TrainReturnsTest, FinishTakesEffectWhenTheStepEnds) {
  EXPECT_EQ(train_while([](Session& session, std::uint64_t step) {
              if (step != 15) return true;
              session.finish("the loss no longer falls");
              return false;
            }),
            82);
  EXPECT_THAT(said_, HasSubstr("returned at step 15 of 100: finish() and save() take effect when a step "
                               "ends, so let the loop over steps() end by itself"));
  EXPECT_EQ(train_while([](Session& session, std::uint64_t step) {
              if (step == 15) session.finish("the loss no longer falls");
              return true;
            }),
            0);
  EXPECT_THAT(record(), HasSubstr(R"("step":16)"));
}

TEST_F(TrainReturnsTest, AFailureIsNoEndOfTheRunWhateverItsExitCode) {
  for (const int code : {0, 256}) {
    EXPECT_EQ(train_while([&](Session&, std::uint64_t step) {
                if (step == 15) throw Failure(code, "mine");
                return true;
              }),
              1);
    EXPECT_THAT(said_, HasSubstr("the training function threw a ratoon::Failure with exit code " +
                                 std::to_string(code) +
                                 ", which means a complete run; the process ends with 1: mine"));
  }
  EXPECT_THAT(record(), IsEmpty());
}

TEST_F(TrainReturnsTest, NorIsExitWithZeroWithinTheFunction) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto exits_with = [this](int code) {
    static_cast<void>(ratoon::train(options_, [&](Session& session) {
      for (const std::uint64_t step : session.steps(100))
        if (step == 15) std::exit(code);
    }));
  };
  EXPECT_EXIT(exits_with(0), testing::ExitedWithCode(82),
              "ratoon: exit.. was called within the training function at step 15 of 100: to end the run "
              "early, call finish.. and return; the last save is that of step 10");
  EXPECT_EXIT(exits_with(3), testing::ExitedWithCode(3), "");
  EXPECT_EQ(train_while([](Session&, std::uint64_t) { return true; }), 0);
  EXPECT_EXIT(std::exit(0), testing::ExitedWithCode(0), "") << "what comes after the training";
}

// A model for which the test takes the mean.
struct Model {};
void average_gradients_of(Session&, Model&, const Averaging&) {
  throw Failure(81, "a collective failed, and nobody said why");
}

TEST_F(TrainReturnsTest, NorIsAFailedCollectiveThatTheProgramCaught) {
  EXPECT_EQ(train([](Session& session) {
              Model model;
              try {
                for (const std::uint64_t step : session.steps(100))
                  if (step == 15) session.average_gradients(model);
              } catch (const std::exception&) {
              }
            }),
            81);
  EXPECT_THAT(said_, HasSubstr("ratoon: a collective failed, and nobody said why\n"));
}

// A disk that does not answer may work again at the next start, so this is no mistake of the program.
TEST_F(TrainReturnsTest, NorAreSamplesThatCannotBeReadJustNow) {
  for (const std::uint32_t threads : {0, 2}) {
    EXPECT_EQ(train([threads](Session& session) {
                const auto numbers = std::make_shared<test::NumbersDataset>(100, [](auto id, auto&) {
                  if (id == 40) throw Failure(84, "the disk of the samples does not answer");
                });
                Stream stream(session.stream_options({.samples = 100, .global_batch = 1}));
                DataLoader loader(numbers, stream, {.threads = threads});
                session.track("stream", stream);
                try {
                  for ([[maybe_unused]] const auto step : session.steps(100)) loader.advance(loader.next());
                } catch (const std::exception&) {
                }
              }),
              84);
    EXPECT_THAT(said_, HasSubstr(": the disk of the samples does not answer\n"));
  }
  EXPECT_THAT(record(), IsEmpty());
}

TEST_F(TrainReturnsTest, ASampleThatCouldBeReadAtTheSecondTryIsForgotten) {
  bool has_failed = false;
  EXPECT_EQ(train([&](Session& session) {
              const auto numbers = std::make_shared<test::NumbersDataset>(100, [&](auto, auto&) {
                if (!std::exchange(has_failed, true)) throw Failure(84, "not yet");
              });
              Stream stream(session.stream_options({.samples = 100, .global_batch = 1}));
              DataLoader loader(numbers, stream, {.threads = 0});
              session.track("stream", stream);
              for (const std::uint64_t step : session.steps(100)) {
                if (step == 0) {
                  EXPECT_THROW(loader.next(), Failure);
                }
                loader.advance(loader.next());
                if (step == 15) return;
              }
            }),
            82);
}

// Changes of the world are no std::exceptions: a handler of std::exception does not swallow them.
TEST_F(TrainReturnsTest, WhatCallsTheFunctionAgainPassesHandlersOfErrors) {
  int calls = 0;
  EXPECT_EQ(train([&](Session& session) {
              ++calls;
              try {
                for (const std::uint64_t step : session.steps(30))
                  if (calls == 1 && step == 15) test::change_world(session, "the world changed");
              } catch (const std::exception&) {
                ADD_FAILURE() << "it is no error";
              }
            }),
            0);
  EXPECT_EQ(calls, 2);
  static_assert(!std::is_base_of_v<std::exception, Interrupted>);
}

// An Interrupted of the program's own says nothing about the world: the function would throw it again at each
// call, for ever.
TEST_F(TrainReturnsTest, AnInterruptionOfTheProgramsOwnEndsTheProcess) {
  int calls = 0;
  EXPECT_EQ(train_while([&](Session&, std::uint64_t step) {
              if (step == 0 && ++calls == 5) return false;  // enough
              if (step == 15) throw Interrupted("mine");
              return true;
            }),
            1);
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(said_,
              HasSubstr("ratoon: the program threw ratoon::Interrupted: mine; the set of processes had not "
                        "changed at step 15 of 100, so the training function is not called again: throw "
                        "another type of exception for other errors; the last save is that of step 10\n"));
  EXPECT_THAT(record(), IsEmpty());
}

// As a thread of the program keeps an exception that outlives the attempt.
TEST_F(TrainReturnsTest, AnInterruptionOfAnAttemptBeforeIsNoneOfThisOne) {
  std::exception_ptr kept;
  int calls = 0;
  EXPECT_EQ(train([&](Session& session) {
              if (++calls == 5) return;  // enough
              if (kept) std::rethrow_exception(kept);
              for (const std::uint64_t step : session.steps(100)) {
                if (step != 15) continue;
                try {
                  test::change_world(session, "the world changed");
                } catch (...) {
                  kept = std::current_exception();
                  throw;
                }
              }
            }),
            1);
  EXPECT_EQ(calls, 2);
  EXPECT_THAT(said_, HasSubstr("threw ratoon::Interrupted: the world changed; the set of processes had not "
                               "changed before its first step, so"));
}

// A model of main(), for example: the weights of the steps that are made again must not be in it.
TEST_F(TrainReturnsTest, WhatOutlivesTheFunctionIsSetBackWhereNothingWasSaved) {
  options_.save_every = Every::steps(50);
  std::uint64_t sum = 0;
  int calls = 0;
  EXPECT_EQ(train([&](Session& session) {
              ++calls;
              session.track("sum", sum);
              for (const std::uint64_t step : session.steps(100)) {
                if (calls < 3 && step == 20) test::change_world(session, "the world changed");
                if (calls == 3 && step == 60) test::change_world(session, "the world changed");
                sum += step;
              }
            }),
            0)
      << said_;
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(sum, 100u * 99 / 2);
}

// An exception that the session threw and a handler of the program caught is not forgotten.
TEST_F(TrainReturnsTest, AnEndThatTheProgramCaughtIsStillTheEnd) {
  EXPECT_EQ(train([](Session& session) {
              try {
                for (const std::uint64_t step : session.steps(100))
                  if (step == 4) raise(SIGINT);
              } catch (const std::exception&) {
              }
            }),
            130);
  EXPECT_THAT(said_, HasSubstr("stopped by Ctrl-C at step 5, which is saved"));
  EXPECT_THAT(record(), IsEmpty());
}

// A flag of the program's own, as many programs have: the process was told to leave, and has left.
TEST_F(TrainReturnsTest, AStopFlagOfTheProgramsOwnIsALeaveAndNoEnd) {
  was_told_to_stop = false;
  const auto before = std::signal(SIGTERM, [](int) { was_told_to_stop = true; });
  EXPECT_EQ(train_while([](Session&, std::uint64_t step) {
              if (step == 15) raise(SIGTERM);
              return !was_told_to_stop;
            }),
            80);
  std::signal(SIGTERM, before);
  EXPECT_THAT(said_,
              HasSubstr("the training function returned at step 15 of 100 because it was told to leave; "
                        "the last save is that of step 10"));
  EXPECT_THAT(record(), IsEmpty());
}

TEST_F(TrainReturnsTest, NorDoesAHandlerHideItThatTheFunctionInstalls) {
  for (const bool is_before_the_loop : {true, false}) {
    was_told_to_stop = false;
    const auto install = [] { std::signal(SIGTERM, [](int) { was_told_to_stop = true; }); };
    options_.run_name = is_before_the_loop ? "before" : "within";
    EXPECT_EQ(train([&](Session& session) {
                if (is_before_the_loop) install();
                for (const std::uint64_t step : session.steps(100)) {
                  if (step == 10 && !is_before_the_loop) install();
                  if (step == 15) raise(SIGTERM);
                  if (was_told_to_stop) break;
                }
              }),
              80);
    EXPECT_THAT(said_,
                HasSubstr("returned at step 15 of 100 because it was told to leave; the last save is that "
                          "of step 10"));
    std::signal(SIGTERM, SIG_DFL);
  }
  EXPECT_THAT(record(), IsEmpty());
}

TEST_F(TrainReturnsTest, ARunWithoutAStepIsCompleteWithItsState) {
  EXPECT_EQ(train_while([](Session&, std::uint64_t) { return true; }, 0), 0) << said_;
  EXPECT_EQ(manifests(), std::vector<std::string>{"s0000000000.a0001.json"});
  EXPECT_THAT(record(), HasSubstr(R"("step":0},"step":0,)"));
  EXPECT_EQ(train_while([](Session&, std::uint64_t) { return true; }, 0), 0);
  EXPECT_EQ(manifests().size(), 1u) << "it is saved";
  EXPECT_EQ(train_while([](Session&, std::uint64_t) { return true; }, 10), 0);
  EXPECT_EQ(manifests().back(), "s0000000010.a0002.json");
}

TEST_F(TrainReturnsTest, ARunThatBeginsAtAnothersEndIsCompleteWithAllOfIt) {
  ASSERT_EQ(train_while([](Session&, std::uint64_t) { return true; }, 20), 0);
  options_.run_name = "other";
  options_.load_from = (folder_ / "run").string();
  options_.load_parts = "all";
  EXPECT_EQ(train_while([](Session&, std::uint64_t) { return true; }, 20), 0) << said_;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "other/manifests/s0000000020.a0001.json"));
  EXPECT_THAT(record(), HasSubstr(R"("step":20},"step":20,)"));
}

TEST_F(TrainReturnsTest, TheRecordOfARunThatIsOverNamesTheCheckpointThatItFound) {
  ASSERT_EQ(train_while([](Session&, std::uint64_t) { return true; }, 20), 0);
  const std::string first = record();
  EXPECT_THAT(first, HasSubstr(R"({"attempt":1,"checkpoint":{"attempt":1,"digest":")"));
  ASSERT_EQ(train_while([](Session&, std::uint64_t) { return true; }, 20), 0);
  EXPECT_THAT(record(), HasSubstr(R"({"attempt":2,"checkpoint":{"attempt":1,"digest":")"));
}

}  // namespace
}  // namespace ratoon::train_returns_test
