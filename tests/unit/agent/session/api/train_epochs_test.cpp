// What the functions of on_epoch_begin() and on_epoch_end() do in a run that is lost in any of its steps.
#include <functional>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/data_loader.h>
#include <ratoon/memory_dataset.h>
#include <ratoon/session/epochs.h>
#include <ratoon/train.h>

#include "tests/support/temporary_folder.h"

namespace ratoon::train_epochs_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Lines = std::vector<std::string>;

constexpr std::uint64_t kNever = 1000;

// Epochs of 10 samples in batches of 4.
class TrainEpochsTest : public testing::TestWithParam<EpochEnd> {
 protected:
  enum class Form { kSteps, kEpochs };

  static std::string line(const char* what, std::uint64_t epoch, const Session& session) {
    return std::string(what) + " " + std::to_string(epoch) + " after " + std::to_string(session.steps_done());
  }
  static void note_epochs(Session& session, Lines& lines) {
    session.on_epoch_begin([&](std::uint64_t epoch) { lines.push_back(line("begin", epoch, session)); });
    session.on_epoch_end([&](std::uint64_t epoch) { lines.push_back(line("end", epoch, session)); });
  }
  Stream make_stream() const {
    return Stream({.samples = 10, .global_batch = 4, .seed = 5, .source = "ten", .epoch_end = GetParam()});
  }
  int train(const std::function<void(Session&)>& function, std::uint64_t save_every = 4) {
    options_.save_every = Every::steps(save_every);
    options_.save_folder = folder_.path().string();
    testing::internal::CaptureStderr();
    const int code = ratoon::train(options_, function);
    said_ = testing::internal::GetCapturedStderr();
    return code;
  }
  // Writes a line for each call, into `called` and into `tracked`, which is part of the checkpoints.
  int walk(Form form, Lines& called, Lines& tracked, std::uint64_t fails_in, std::uint64_t save_every = 4) {
    const auto function = [&](Session& session) {
      tracked.clear();
      Stream stream = make_stream();
      session.track("stream", stream);
      session.track("lines", tracked);
      const auto note = [&](const char* what, std::uint64_t epoch) {
        called.push_back(line(what, epoch, session));
        tracked.push_back(called.back());
      };
      session.on_epoch_begin([&, note](std::uint64_t epoch) { note("begin", epoch); });
      session.on_epoch_end([&, note](std::uint64_t epoch) { note("end", epoch); });
      const auto fail_if_due = [&] {
        if (session.steps_done() == fails_in) throw std::runtime_error("the test's own");
      };
      if (form == Form::kSteps) {
        session.follow(stream);
        for ([[maybe_unused]] const auto step : session.steps(Until::epochs(3))) {
          fail_if_due();
          stream.advance();
        }
        return;
      }
      const auto data = MemoryDataset::of({MemoryColumn("x", std::vector<float>(10))});
      DataLoader loader(data, stream, {.threads = 0});
      for (const auto& epoch : epochs(session, stream, 3))
        for ([[maybe_unused]] const Batch& batch : epoch.batches(loader)) fail_if_due();
    };
    return train(function, save_every);
  }

  test::TemporaryFolder folder_;
  Options options_{.save_folder = "", .run_name = "run", .member = {}};
  std::string said_;
};

TEST_P(TrainEpochsTest, BeginBeforeTheFirstBatchThatBeginsInThem) {
  Lines called;
  Lines tracked;
  ASSERT_EQ(walk(Form::kSteps, called, tracked, kNever), 0) << said_;
  EXPECT_EQ(called, tracked);
  // A carried batch ends one epoch and is not the first of the next.
  const Lines carried{"begin 0 after 0", "end 0 after 3",   "begin 1 after 3",
                      "end 1 after 5",   "begin 2 after 5", "end 2 after 8"};
  const Lines cut{"begin 0 after 0", "end 0 after 3",   "begin 1 after 3",
                  "end 1 after 6",   "begin 2 after 6", "end 2 after 9"};
  const Lines dropped{"begin 0 after 0", "end 0 after 2",   "begin 1 after 2",
                      "end 1 after 4",   "begin 2 after 4", "end 2 after 6"};
  EXPECT_EQ(called, GetParam() == EpochEnd::kCarry   ? carried
                    : GetParam() == EpochEnd::kShort ? cut
                                                     : dropped);
}

// A call is made again if and only if the step that it belongs to was lost.
TEST_P(TrainEpochsTest, AreCalledOnceForEachCommittedStepWhereverTheRunIsLost) {
  for (const Form form : {Form::kSteps, Form::kEpochs}) {
    for (const std::uint64_t save_every : {1u, 3u, 4u}) {
      const std::string name =
          std::to_string(save_every) + (form == Form::kSteps ? " in steps" : " in epochs");
      options_.run_name = "whole " + name;
      Lines whole;
      Lines in_state;
      ASSERT_EQ(walk(form, whole, in_state, kNever, save_every), 0) << said_;
      EXPECT_EQ(in_state, whole);
      for (std::uint64_t fails_in = 0; fails_in < 6; ++fails_in) {
        options_.run_name = "fails in " + std::to_string(fails_in) + " saves each " + name;
        Lines before;
        Lines after;
        EXPECT_EQ(walk(form, before, in_state, fails_in, save_every), 1) << said_;
        EXPECT_EQ(walk(form, after, in_state, kNever, save_every), 0) << said_;
        EXPECT_EQ(in_state, whole) << options_.run_name;
        const std::uint64_t resumed = fails_in / save_every * save_every;
        for (const std::string& call : whole) {
          const std::uint64_t at = std::stoull(call.substr(call.rfind(' ')));
          const bool is_of_next_step = call.starts_with("begin");
          const bool is_repeated = is_of_next_step ? at >= resumed : at > resumed;
          EXPECT_EQ(testing::Value(after, testing::Contains(call)), is_repeated)
              << call << " in the run that " << options_.run_name;
        }
      }
    }
  }
}

TEST_P(TrainEpochsTest, LateFunctionsCountFromTheNextBoundary) {
  Lines lines;
  ASSERT_EQ(train([&](Session& session) {
              Stream stream = make_stream();
              session.track("stream", stream);
              session.follow(stream);
              for (const std::uint64_t step : session.steps(Until::epochs(3))) {
                if (step == 1) note_epochs(session, lines);
                stream.advance();
              }
            }),
            0)
      << said_;
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_THAT(lines.front(), HasSubstr("end 0"));
  EXPECT_THAT(lines[1], HasSubstr("begin 1"));
  EXPECT_THAT(lines.back(), HasSubstr("end 2"));
}

// Each function may replace itself while it is called.
TEST_P(TrainEpochsTest, AFunctionMayRegisterTheNextOne) {
  Lines lines;
  ASSERT_EQ(train([&](Session& session) {
              Stream stream = make_stream();
              session.track("stream", stream);
              session.follow(stream);
              const std::string long_text(100, 'x');  // lost with a function that is destroyed in its call
              session.on_epoch_begin([&, long_text](std::uint64_t) {
                note_epochs(session, lines);
                EXPECT_EQ(long_text.size(), 100u);
              });
              for ([[maybe_unused]] const auto step : session.steps(Until::epochs(2))) stream.advance();
            }),
            0)
      << said_;
  EXPECT_EQ(lines.size(), 3u) << "end 0, begin 1, end 1";
}

TEST_P(TrainEpochsTest, WithoutAStreamLateFunctionsAreRefused) {
  EXPECT_EQ(train([&](Session& session) {
              std::uint64_t sum = 0;
              session.track("sum", sum);
              for ([[maybe_unused]] const auto step : session.steps(3))
                session.on_epoch_begin([](std::uint64_t) {});
            }),
            82);
  EXPECT_THAT(said_, HasSubstr("call session.follow(stream) before steps()"));
}

INSTANTIATE_TEST_SUITE_P(EpochEnds, TrainEpochsTest,
                         testing::Values(EpochEnd::kCarry, EpochEnd::kShort, EpochEnd::kDrop));

// complete() saves after on_epoch_begin() was called for the epoch that the next start continues.
TEST(EpochsInPlace, BeginOnceAlthoughTheRunEndsBetweenThem) {
  const test::TemporaryFolder folder;
  const auto run = [&](const std::string& name, std::vector<int> parts) {
    double rate = 1;
    std::uint64_t calls = 0;
    for (const int steps : parts) {
      const Options options{.save_folder = folder.path().string(), .run_name = name, .member = {}};
      Session session(options);
      Stream stream({.samples = 8, .global_batch = 4, .source = "eight"});
      session.track("stream", stream);
      session.track("rate", rate);
      session.track("calls", calls);
      session.follow(stream);
      session.on_epoch_begin([&](std::uint64_t) {
        rate /= 2;
        ++calls;
      });
      session.resume();
      for (int step = 0; step < steps; ++step) {
        stream.advance();
        static_cast<void>(session.step_done());
      }
      EXPECT_EQ(session.complete(), 0);
    }
    return std::pair(rate, calls);
  };
  testing::internal::CaptureStderr();
  const auto whole = run("whole", {8});
  const auto in_parts = run("parts", {4, 3, 1});
  static_cast<void>(testing::internal::GetCapturedStderr());
  EXPECT_EQ(whole.second, 5u);
  EXPECT_EQ(in_parts, whole);
}

}  // namespace
}  // namespace ratoon::train_epochs_test
