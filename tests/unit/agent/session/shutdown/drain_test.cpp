// Drain against scaled clocks: a rank that trains and saves as ordered, until it leaves.
#include "agent/src/session/shutdown/drain.h"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/session/engine/control_word.h"
#include "base/contract/exit_code.h"

namespace ratoon::session::drain_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::uint64_t kGigabyte = 1'000'000'000;

Timestamp at(Duration d) {
  return {d};
}

struct Machine {
  std::uint64_t state_bytes = kGigabyte;
  Duration step = 500ms;
  Duration stall = 200ms;
  Duration write = 2200ms;  // from when it is asked for
};

// The actions of a rank, in seconds since the beginning.
struct RunSchedule {
  Timestamp left{};
  Timestamp last_durable{};  // when the last save was durable
  Timestamp last_saved{};    // and when it began
  int saves_after_notice = 0;
  bool is_saved_as_it_leaves = false;
};

// Trains alone, with saves each ten seconds; SIGTERM at `told`.
RunSchedule train_until_it_leaves(const Machine& machine, Duration told, Duration grace,
                                  bool can_be_replaced = false) {
  Timestamp now = at(1s);
  SignalCounts signals;
  Drain drain({.grace = grace, .can_be_replaced = can_be_replaced, .signal_counts = [&] { return signals; }});
  drain.begin_attempt(machine.state_bytes);
  RunSchedule schedule;
  bool is_writing = false;
  const auto save = [&] {
    const Timestamp began = now;
    now = now + machine.stall;
    drain.note_save(began, machine.stall);
    schedule.last_saved = began;
    schedule.last_durable = began + machine.write;
    is_writing = true;
    drain.note_staged(true);
    if (signals.terminate.count > 0) ++schedule.saves_after_notice;
  };
  const auto look = [&] {
    if (!is_writing || now < schedule.last_durable) return;
    is_writing = false;
    drain.note_commit(machine.write);
    drain.note_staged(false);
  };
  Timestamp next_save = at(1s);
  while (now < at(1h)) {
    now = now + machine.step;
    drain.note_step(machine.step);
    look();
    if (now >= at(told)) signals.terminate = {.count = 1, .first = at(told)};
    const std::uint32_t requests = drain.requests({}, now);
    const bool is_due = now >= next_save && signals.terminate.count == 0;
    if (is_due) next_save = now + 10s;
    if (is_due || (requests & (control::kSave | control::kStop)) != 0) save();
    if ((requests & control::kStop) != 0) {
      schedule.is_saved_as_it_leaves = true;
      now = std::max(now, schedule.last_durable);
      break;
    }
    if ((requests & control::kStopWithoutSave) != 0 || drain.find_exit_failure(now, true)) break;
  }
  schedule.left = now;
  return schedule;
}

class DrainWithin : public testing::TestWithParam<Duration> {};

// The margin of two seconds covers delays that the model does not have.
TEST_P(DrainWithin, ARankIsSavedAndGoneInTime) {
  const Duration grace = GetParam();
  for (const Duration step : {20ms, 500ms, 1500ms}) {
    for (const std::uint64_t megabytes : {10, 500}) {
      const Machine machine{.state_bytes = megabytes * 1'000'000,
                            .step = step,
                            .stall = std::chrono::milliseconds(megabytes / 5),
                            .write = std::chrono::milliseconds(20 + megabytes)};
      const RunSchedule schedule = train_until_it_leaves(machine, 60s, grace);
      SCOPED_TRACE(testing::Message() << step / 1ms << " ms a step, " << megabytes << " MB");
      const Timestamp deadline = at(60s + grace);
      EXPECT_LE(schedule.left, deadline);
      EXPECT_GE(schedule.saves_after_notice, 1);
      EXPECT_LE(schedule.last_durable, deadline);
      EXPECT_TRUE(schedule.is_saved_as_it_leaves) << "no step is lost";
      // The rank trains on until it has to go: safety factors, the margin, and the durations of steps and
      // saves.
      EXPECT_GE(schedule.left, deadline - 2s - 2 * (machine.write + machine.stall) - 3 * step - 100ms);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seconds, DrainWithin, testing::Values(5s, 15s, 30s, 120s),
                         [](const auto& grace) { return std::to_string(grace.param / 1s); });

TEST(Drain, WhatCannotBeSavedInTimeIsNotBegun) {
  const Machine slow{.state_bytes = 50 * kGigabyte, .step = 1s, .stall = 5s, .write = 90s};
  const RunSchedule schedule = train_until_it_leaves(slow, 60s, 30s);
  EXPECT_EQ(schedule.saves_after_notice, 0);
  EXPECT_LE(schedule.left, at(90s));
  EXPECT_GE(schedule.left, at(86s)) << "a replacement may come to the last";
}

TEST(Drain, WhoMayBeReplacedTrainsOnAfterTheLastSave) {
  const Machine machine{.state_bytes = kGigabyte / 2, .step = 500ms, .stall = 100ms, .write = 3s};
  const RunSchedule schedule = train_until_it_leaves(machine, 60s, 30s, true);
  EXPECT_FALSE(schedule.is_saved_as_it_leaves);
  EXPECT_GE(schedule.saves_after_notice, 2);
  EXPECT_LE(schedule.saves_after_notice, 4) << "at once, and as late as it can";
  EXPECT_LE(schedule.last_durable, at(88s));
  EXPECT_GE(schedule.left, at(88s));
  EXPECT_LE(schedule.left, at(89s));
}

TEST(Drain, ATimeLimitIsNoReasonToSaveAtOnce) {
  preemption::Notices ends;
  ends.set_notice("time limit", {.deadline = at(100s), .is_sudden = false, .why = "the time limit of 100s"});
  Drain drain({.known_ends = ends});
  drain.note_step(1s);
  EXPECT_EQ(drain.requests({}, at(10s)), 0u);
  EXPECT_FALSE(drain.find_exit_failure(at(10s), true).has_value());
  EXPECT_EQ(drain.requests({}, at(97s)), control::kStop);
  EXPECT_EQ(drain.requests({}, at(98s)), control::kStop) << "tried: it would end a second before the clock";
  EXPECT_EQ(drain.requests({}, at(98500ms)), control::kStopWithoutSave);
  EXPECT_FALSE(drain.find_exit_failure(at(98500ms), true).has_value()) << "the others may hear of it yet";
  EXPECT_TRUE(drain.find_exit_failure(at(98s), false).has_value());
  const auto late = drain.find_exit_failure(at(99s), true);
  ASSERT_TRUE(late.has_value());
  EXPECT_EQ(late->exit_code, static_cast<int>(ExitCode::kPreempted));
  EXPECT_THAT(late->what(), HasSubstr("the time limit of 100s"));
}

// `ratoon run` and `ratoon launch` leave with all of their processes, so no replacement comes.
TEST(Drain, TheEndOfARunIsLeftTogetherUnlikeTheEndOfANode) {
  preemption::Notices ends;
  ends.set_notice(
      "time limit",
      {.deadline = at(100s), .is_sudden = false, .why = "the time limit of 100s", .ends_run = true});
  Drain drain({.known_ends = ends, .can_be_replaced = true});
  drain.note_step(1s);
  EXPECT_EQ(drain.requests({}, at(97s)), control::kStop);
  EXPECT_EQ(drain.requests({}, at(98500ms)), control::kStopWithoutSave);

  Drain with_notice({.known_ends = ends, .can_be_replaced = true});
  with_notice.note_step(1s);
  const CoordinatorRequests goes{.drain_deadline = at(50s)};
  EXPECT_EQ(with_notice.requests(goes, at(40s)), control::kSave);
  EXPECT_EQ(with_notice.requests(goes, at(48500ms)), 0u) << "it trains on until a replacement joins";
  EXPECT_TRUE(with_notice.find_exit_failure(at(48500ms), true).has_value());
}

// Observed when a machine stood still for the moment in which the last save was to begin.
TEST(Drain, AStepThatOutlastedTheLastMomentIsSavedAllTheSame) {
  Drain drain;
  drain.begin_attempt(kGigabyte);
  drain.note_commit(300ms);
  drain.note_step(20ms);
  drain.notify(at(0s), 10s, "a reclaim");
  EXPECT_EQ(drain.requests({}, at(1s)), control::kSave);
  drain.note_save(at(1s), 100ms);
  EXPECT_EQ(drain.requests({}, at(7s)), 0u);
  EXPECT_EQ(drain.requests({}, at(8100ms)), control::kStop);
  EXPECT_FALSE(drain.find_exit_failure(at(8100ms), true).has_value());
  EXPECT_EQ(drain.remaining_commit_time(at(8200ms)), 1550ms) << "and it leaves in time, saved or not";
  EXPECT_EQ(drain.requests({}, at(8700ms)), control::kStopWithoutSave) << "that would end too late";
}

TEST(Drain, WhereOneSaveFitsItIsMadeLateSinceAReplacementMayComeBefore) {
  for (const bool can_be_replaced : {false, true}) {
    Drain drain({.can_be_replaced = can_be_replaced});
    drain.begin_attempt(kGigabyte);
    drain.note_step(100ms);
    drain.note_save(at(0s), 10ms);
    drain.note_commit(60s);
    const CoordinatorRequests wanted{.drain_deadline = at(121s)};
    EXPECT_EQ(drain.requests(wanted, at(1s)), can_be_replaced ? 0U : control::kStop) << can_be_replaced;
    if (!can_be_replaced) continue;
    EXPECT_EQ(drain.requests(wanted, at(28s)), 0U);
    EXPECT_EQ(drain.requests(wanted, at(28900ms)), control::kSave)
        << "with time for a slower disk, and no later";
  }
}

TEST(Drain, ACommitIsWaitedForAsLongAsCommitsTake) {
  Drain drain;
  drain.begin_attempt(kGigabyte);
  EXPECT_EQ(drain.commit_timeout(), 60s) << "one of a slow disk, twice, is shorter";
  drain.begin_attempt(16 * kGigabyte);
  EXPECT_EQ(drain.commit_timeout(), 650s) << "none was measured";
  EXPECT_EQ(drain.longest_commit(), 0s);
  drain.note_commit(70s);
  EXPECT_EQ(drain.commit_timeout(), 150s);
  EXPECT_EQ(drain.longest_commit(), 70s);
  EXPECT_EQ(drain.remaining_commit_time(at(0s)), 150s);
  drain.receive_order({.drain_deadline = at(100s)}, at(0s));
  EXPECT_EQ(drain.remaining_commit_time(at(0s)), 99750ms) << "and no longer than its end";
}

TEST(Drain, AProcessThatMustEndHasOnlyTheTimeUntilItsDeadline) {
  Drain drain;
  EXPECT_EQ(drain.remaining_time(at(0s)), std::nullopt);
  drain.notify(at(0s), 10s, "a reclaim");
  EXPECT_EQ(drain.remaining_time(at(1s)), 8750ms);
  EXPECT_EQ(drain.remaining_time(at(20s)), 0s);
}

TEST(Drain, CtrlCStopsAtTheNextStepAndSaysSo) {
  SignalCounts signals;
  Drain drain({.signal_counts = [&] { return signals; }});
  EXPECT_EQ(drain.requests({}, at(1s)), 0u);
  signals.interrupt = {.count = 1, .first = at(2s)};
  const std::uint32_t requests = drain.requests({}, at(3s));
  EXPECT_EQ(requests, control::kStop | control::kInterrupt);
  EXPECT_FALSE(drain.find_exit_failure(at(3s), true).has_value()) << "all stop together";
  const Failure exit_for_drain = drain.exit_for_drain(requests, Step(7), true);
  EXPECT_EQ(exit_for_drain.exit_code, 130);
  EXPECT_STREQ(exit_for_drain.what(), "stopped by Ctrl-C at step 7, which is saved");
}

TEST(Drain, CtrlCWaitsForTheNextSaveWhereNobodyAgrees) {
  SignalCounts signals;
  Drain drain({.grace = 10s, .signal_counts = [&] { return signals; }});
  EXPECT_FALSE(drain.leaves_with_next_save());
  signals.interrupt = {.count = 1, .first = at(2s)};
  EXPECT_TRUE(drain.leaves_with_next_save());
  EXPECT_FALSE(drain.find_exit_failure(at(11s), false).has_value());
  const Failure late = drain.find_exit_failure(at(12s), false).value();
  EXPECT_EQ(late.exit_code, 130);
  EXPECT_THAT(late.what(), HasSubstr("without a save"));
}

TEST(Drain, ASignalThatAsksForASaveIsServedOnce) {
  SignalCounts signals;
  Drain drain({.signal_counts = [&] { return signals; }});
  signals.saves = 2;
  EXPECT_EQ(drain.requests({}, at(1s)), control::kSave);
  drain.note_save(at(1s), 1ms);
  EXPECT_EQ(drain.requests({}, at(2s)), 0u);
  signals.saves = 3;
  EXPECT_EQ(drain.requests({}, at(3s)), control::kSave);
}

TEST(Drain, NewsThatIsTakenBackCountsNoMore) {
  Drain drain;
  drain.notify(at(1s), 60s, "a reclaim");
  EXPECT_EQ(drain.requests({}, at(1s)), control::kSave);
  drain.note_save(at(1s), 1ms);
  EXPECT_EQ(drain.requests({}, at(2s)), 0u) << "saved, and time enough";
  drain.take_back_notice();
  EXPECT_EQ(drain.requests({}, at(61s)), 0u);
  EXPECT_FALSE(drain.find_exit_failure(at(70s), true).has_value());
}

// Observed when a busy disk took longer for the last save than for any before.
TEST(Drain, WhoIsReplacedWaitsInTheMarginForWhatIsBeingWritten) {
  Drain drain({.can_be_replaced = true});
  drain.begin_attempt(kGigabyte);
  drain.note_commit(300ms);
  drain.notify(at(0s), 10s, "a reclaim");
  drain.note_save(at(7s), 100ms);
  drain.note_staged(true);
  EXPECT_FALSE(drain.find_exit_failure(at(8500ms), true).has_value());
  EXPECT_TRUE(drain.find_exit_failure(at(9s), true).has_value()) << "half of the margin is for leaving";
  drain.note_staged(false);
  EXPECT_TRUE(drain.find_exit_failure(at(8500ms), true).has_value());
}

TEST(Drain, PeopleAreToldOfANoticeOnce) {
  preemption::Notices ends;
  ends.set_notice("time limit", {.deadline = at(1h), .is_sudden = false, .why = "the time limit of 1h"});
  Drain drain({.known_ends = ends});
  EXPECT_EQ(drain.take_notice_message(at(1s)), "") << "it was known from the start";
  drain.notify(at(1s), 30s, "a reclaim");
  EXPECT_EQ(
      drain.take_notice_message(at(2s)),
      "a reclaim: Ratoon makes the saves that can end in time, and training continues for 27 s at most");
  EXPECT_EQ(drain.take_notice_message(at(3s)), "");
  drain.take_back_notice();
  EXPECT_EQ(drain.take_notice_message(at(4s)), "");
  drain.notify(at(5s), 30s, "a reclaim");
  EXPECT_NE(drain.take_notice_message(at(6s)), "") << "another one";
}

TEST(Drain, AnOrderThatIsToldWithEachBeatIsOneNotice) {
  Drain drain({.can_be_replaced = true});
  CoordinatorRequests wanted;
  wanted.drain_deadline = at(100s);
  EXPECT_EQ(drain.requests(wanted, at(1s)), control::kSave);
  drain.note_save(at(1s), 1ms);
  wanted.drain_deadline = at(100s - 300ms);
  EXPECT_EQ(drain.requests(wanted, at(2s)), 0u);
  wanted.drain_deadline = at(50s);
  EXPECT_EQ(drain.requests(wanted, at(3s)), control::kSave) << "that is news";
  wanted.drain_deadline.reset();
  EXPECT_EQ(drain.requests(wanted, at(60s)), 0u) << "taken back";
}

TEST(Drain, AnOrderWithAShortDeadlineLeavesTimeForAReplacement) {
  const auto leaves_at = [](Duration told, Duration left) {
    Drain drain({.can_be_replaced = true});
    CoordinatorRequests wanted;
    wanted.drain_deadline = at(told + left);
    for (Timestamp now = at(told);; now = now + 10ms) {
      // The notice as it comes with each beat, a little later each time.
      wanted.drain_deadline = *wanted.drain_deadline + 10us;
      if ((drain.requests(wanted, now) & control::kSave) != 0) drain.note_save(now, 1ms);
      if (drain.find_exit_failure(now, true)) return now - at(told);
    }
  };
  EXPECT_NEAR(seconds(leaves_at(1s, 30s)), 28, 0.1);
  EXPECT_NEAR(seconds(leaves_at(1s, 8s)), 6, 0.1);
  EXPECT_NEAR(seconds(leaves_at(1s, 2s)), 1.5, 0.1);
  EXPECT_NEAR(seconds(leaves_at(1s, 400ms)), 0.3, 0.05);
}

TEST(Drain, WhoIsToGoJoinsNoWorld) {
  SignalCounts signals;
  Drain drain({.grace = 30s, .signal_counts = [&] { return signals; }});
  EXPECT_FALSE(drain.forbids_joining(at(1s)).has_value());
  drain.notify(at(1s), 60s, "a reclaim");
  EXPECT_FALSE(drain.forbids_joining(at(1s)).has_value()) << "a minute of work";
  EXPECT_EQ(drain.forbids_joining(at(60s)).value().exit_code, 80);
  drain.take_back_notice();
  signals.terminate = {.count = 1, .first = at(2s)};
  EXPECT_EQ(drain.forbids_joining(at(2s)).value().exit_code, 80);
  signals.interrupt = {.count = 1, .first = at(2s)};
  EXPECT_EQ(drain.forbids_joining(at(2s)).value().exit_code, 130);
}

TEST(Drain, ABatchSystemsSignalHasTheEndOfTheJob) {
  SignalCounts signals;
  Drain drain({.job_end = at(600s), .signal_counts = [&] { return signals; }});
  signals.notice = {.count = 1, .first = at(300s)};
  EXPECT_EQ(drain.requests({}, at(301s)), control::kSave);
  drain.note_save(at(301s), 1ms);
  EXPECT_EQ(drain.requests({}, at(400s)), 0u);
  drain.note_step(1s);
  EXPECT_EQ(drain.requests({}, at(597s)), control::kStop);

  Drain of_run({.job_end = at(600s), .job_end_ends_run = true, .can_be_replaced = true, .signal_counts = [&] {
                  return signals;
                }});
  of_run.note_step(1s);
  EXPECT_EQ(of_run.requests({}, at(597s)), control::kStop) << "the runner ends with the job, too";
}

}  // namespace
}  // namespace ratoon::session::drain_test
