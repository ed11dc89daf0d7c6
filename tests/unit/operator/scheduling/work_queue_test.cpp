#include "operator/runtime/scheduling/work_queue.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <latch>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace ratoon::runtime::work_queue_test {
namespace {

using std::chrono::milliseconds;

// No key that is taken within a test was found by periodic polling.
constexpr Duration kIdleHour = std::chrono::hours(1);

JobKey key(const std::string& name) {
  return {.name_space = "default", .name = name};
}

class WorkQueueTest : public testing::Test {
 protected:
  // Nothing if none is due now.
  std::optional<JobKey> take_now() { return queue_.take_due(); }

  ManualClock clock_{Timestamp{std::chrono::seconds(100)}};
  WorkQueue queue_{clock_};
};

TEST_F(WorkQueueTest, AKeyComesOutOnceHoweverOftenItWasAskedFor) {
  for (int i = 0; i < 5; ++i) queue_.add_now(key("a"));
  EXPECT_EQ(take_now(), key("a"));
  EXPECT_EQ(take_now(), std::nullopt);
}

TEST_F(WorkQueueTest, WhatIsTakenComesOutAgainOnlyWhenItIsDone) {
  queue_.add_now(key("a"));
  ASSERT_EQ(take_now(), key("a"));
  queue_.add_now(key("a"));  // asked for while it is worked on
  EXPECT_EQ(take_now(), std::nullopt);
  EXPECT_EQ(queue_.backlog().jobs, 0u) << "nobody could take it";
  queue_.done(key("a"));
  EXPECT_EQ(take_now(), key("a"));
  queue_.done(key("a"));
  EXPECT_EQ(take_now(), std::nullopt) << "once";
}

// Calls for jobs of one namespace may hang, for example in its webhooks.
TEST_F(WorkQueueTest, ANamespaceHasSoManyJobsOutAndNoMore) {
  WorkQueue queue(clock_, kIdleHour, {.per_namespace_max = 2});
  const auto of = [](const std::string& name_space, const std::string& name) {
    return JobKey{.name_space = name_space, .name = name};
  };
  for (const char* name : {"1", "2", "3", "4"}) queue.add(of("a", name), clock_.now());
  clock_.advance(milliseconds(1));
  queue.add(of("b", "1"), clock_.now());
  EXPECT_EQ(queue.take_due(), of("a", "1"));
  EXPECT_EQ(queue.take_due(), of("b", "1")) << "though three others were due before it";
  EXPECT_EQ(queue.take_due(), of("a", "2"));
  EXPECT_EQ(queue.take_due(), std::nullopt);
  EXPECT_EQ(queue.backlog().jobs, 2u);
  queue.add_now(of("a", "4"), Urgency::kDisruption);
  EXPECT_EQ(queue.take_due(), std::nullopt);
  queue.done(of("a", "1"));
  EXPECT_EQ(queue.take_due(), of("a", "4")) << "the disruption comes before the other one";
  EXPECT_EQ(queue.take_due(), std::nullopt);
  queue.done(of("a", "2"));
  EXPECT_EQ(queue.take_due(), of("a", "3"));
  queue.done(of("a", "3"));
  queue.done(of("a", "4"));
  queue.done(of("b", "1"));
  queue.add_now(of("a", "1"));
  EXPECT_EQ(queue.take_due(), of("a", "1"));
  EXPECT_EQ(queue.backlog().jobs, 0u);
}

// A thread that waits for the namespace's turn is woken by the thread that returns a key.
TEST_F(WorkQueueTest, ASleeperTakesWhatWasHeldUpOnceAnotherIsDone) {
  WorkQueue queue(clock_, kIdleHour, {.per_namespace_max = 1});
  queue.add_now(key("a"));
  queue.add_now(key("b"));
  const std::stop_source never;
  ASSERT_EQ(queue.take(never.get_token()), key("a"));
  std::latch began(1);
  std::jthread other([&] {
    began.count_down();
    EXPECT_EQ(queue.take(never.get_token()), key("b"));
  });
  began.wait();
  queue.done(key("a"));
}

// The length of a turn is measured by the queue.
TEST_F(WorkQueueTest, AJobWithALongTurnLeavesAWorkerToAnotherJob) {
  WorkQueue queue(clock_, kIdleHour, {.per_namespace_max = 2, .slow_per_namespace_max = 1});
  for (const char* name : {"a", "b"}) queue.add_now(key(name));
  for (const char* name : {"a", "b"}) ASSERT_EQ(queue.take_due(), key(name));
  clock_.advance(FairQueue::kSlowTurn);
  for (const char* name : {"a", "b"}) {
    queue.add_now(key(name));
    queue.done(key(name));
  }
  EXPECT_EQ(queue.take_due(), key("a"));
  EXPECT_EQ(queue.take_due(), std::nullopt);
  queue.add_now(key("c"));
  EXPECT_EQ(queue.take_due(), key("c"));
}

// A job that exists has a time for its next decision, and a deleted one has none.
TEST_F(WorkQueueTest, ADeletedJobIsNotRememberedAsSlow) {
  WorkQueue queue(clock_, kIdleHour, {.per_namespace_max = 2, .slow_per_namespace_max = 1});
  for (const char* name : {"a", "b"}) queue.add_now(key(name));
  for (const char* name : {"a", "b"}) ASSERT_EQ(queue.take_due(), key(name));
  clock_.advance(FairQueue::kSlowTurn);
  for (const char* name : {"a", "b"}) queue.done(key(name));
  for (const char* name : {"a", "b"}) queue.add_now(key(name));
  EXPECT_EQ(queue.take_due(), key("a"));
  EXPECT_EQ(queue.take_due(), key("b"));
}

// No event reports that a turn has become long, so a waiting thread examines the clock at that moment.
TEST_F(WorkQueueTest, ASleeperTakesThePlaceOfAWorkerWhoseTurnLastsLong) {
  const SystemClock clock;
  WorkQueue queue(clock, kIdleHour, {.active_max = 1});
  for (const char* name : {"a", "b"}) queue.add_now(key(name));
  const Timestamp before = clock.now();
  ASSERT_EQ(queue.take({}), key("a"));
  EXPECT_EQ(queue.take({}), key("b"));
  EXPECT_GE(clock.now() - before, FairQueue::kHangingTurn);
}

TEST_F(WorkQueueTest, ADisruptionComesBeforeAllThatIsDue) {
  for (const char* name : {"a", "b", "c"}) queue_.add(key(name), clock_.now() - milliseconds(500));
  queue_.add_now(key("hit"), Urgency::kDisruption);
  queue_.add_now(key("c"), Urgency::kDisruption);
  EXPECT_EQ(take_now(), key("c")) << "of two disruptions the one that waits longer";
  EXPECT_EQ(take_now(), key("hit"));
  EXPECT_EQ(take_now(), key("a"));
  EXPECT_EQ(queue_.backlog().jobs, 1u);
}

TEST_F(WorkQueueTest, ADisruptionOfAJobThatIsWorkedOnComesFirstAfterwards) {
  queue_.add_now(key("hit"));
  ASSERT_EQ(take_now(), key("hit"));
  queue_.add(key("a"), clock_.now() - milliseconds(500));
  queue_.add_now(key("hit"), Urgency::kDisruption);
  queue_.add(key("hit"), clock_.now() + milliseconds(5000));  // the next look, as planned
  queue_.done(key("hit"));
  EXPECT_EQ(take_now(), key("hit"));
}

TEST_F(WorkQueueTest, WhoTakesAKeyLearnsSinceWhenADisruptionWaits) {
  queue_.add(key("hit"), clock_.now() - milliseconds(500));
  queue_.add_now(key("hit"), Urgency::kDisruption);
  const Timestamp first = clock_.now();
  clock_.advance(milliseconds(30));
  queue_.add_now(key("hit"), Urgency::kDisruption);
  EXPECT_EQ(queue_.disrupted_since(key("hit")), std::nullopt) << "nobody has it";
  ASSERT_EQ(take_now(), key("hit"));
  EXPECT_EQ(queue_.disrupted_since(key("hit")), first);
  const Timestamp second = clock_.now();
  queue_.add_now(key("hit"), Urgency::kDisruption);  // while it is worked on
  EXPECT_EQ(queue_.disrupted_since(key("hit")), first) << "the other one is the next look's";
  queue_.done(key("hit"));
  ASSERT_EQ(take_now(), key("hit"));
  EXPECT_EQ(queue_.disrupted_since(key("hit")), second);
  queue_.add_now(key("hit"));
  queue_.done(key("hit"));
  ASSERT_EQ(take_now(), key("hit"));
  EXPECT_EQ(queue_.disrupted_since(key("hit")), std::nullopt);
}

TEST_F(WorkQueueTest, TheEarliestMomentCounts) {
  queue_.add(key("late"), clock_.now() + milliseconds(50));
  queue_.add(key("late"), clock_.now() + milliseconds(10));
  queue_.add(key("late"), clock_.now() + milliseconds(90));
  queue_.add(key("later"), clock_.now() + milliseconds(20));
  EXPECT_EQ(take_now(), std::nullopt) << "not yet";
  clock_.advance(milliseconds(10));
  EXPECT_EQ(take_now(), key("late"));
  EXPECT_EQ(take_now(), std::nullopt);
  clock_.advance(milliseconds(100));
  EXPECT_EQ(take_now(), key("later"));
  EXPECT_EQ(take_now(), std::nullopt) << "the other moments of 'late' are gone";
}

// Many other queues let ten keys a second through, for any events.
TEST_F(WorkQueueTest, AThousandJobsThatLostANodeAreAllDueAtOnce) {
  constexpr std::size_t kJobs = 1000;
  for (std::size_t i = 0; i < kJobs; ++i) queue_.add_now(key(std::to_string(i)));
  std::set<std::string> taken;
  for (std::size_t i = 0; i < kJobs; ++i) taken.insert(queue_.take({})->name);
  EXPECT_EQ(taken.size(), kJobs) << "and the clock stood still";
}

TEST_F(WorkQueueTest, WhoIsDueAndNotTakenIsTheBacklog) {
  queue_.add_now(key("a"));
  queue_.add(key("b"), clock_.now() + milliseconds(500));
  queue_.add(key("c"), clock_.now() + milliseconds(5000));
  EXPECT_EQ(queue_.backlog().jobs, 1u);
  EXPECT_EQ(queue_.backlog().longest_wait_seconds, 0);
  clock_.advance(milliseconds(2000));
  EXPECT_EQ(queue_.backlog().jobs, 2u);
  EXPECT_EQ(queue_.backlog().longest_wait_seconds, 2);
  EXPECT_EQ(take_now(), key("a"));
  EXPECT_EQ(queue_.backlog().jobs, 1u);
  EXPECT_EQ(queue_.backlog().longest_wait_seconds, 1.5);
}

TEST_F(WorkQueueTest, ASleeperWakesForWhatComes) {
  WorkQueue queue(clock_, kIdleHour);
  std::jthread adds([&] {
    std::this_thread::sleep_for(milliseconds(30));  // for the sleeper to sleep; awake it would find it anyway
    queue.add_now(key("new"));
  });
  EXPECT_EQ(queue.take({}), key("new"));
}

// Several threads take keys, several request them, and a thread that has a key requests it again now and
// then.
TEST_F(WorkQueueTest, NoKeyIsWorkedOnTwiceAtOnceAndNoneIsForgotten) {
  constexpr std::size_t kKeys = 7;
  constexpr int kAsked = 3000;
  struct Ledger {
    std::atomic<int> asked{0};
    std::atomic<int> seen{0};
    std::atomic<int> workers{0};
  };
  std::array<Ledger, kKeys> ledgers;
  std::atomic<int> collisions{0};
  const auto ask = [&](std::size_t i, Urgency urgency) {
    ++ledgers[i].asked;
    queue_.add_now(key(std::to_string(i)), urgency);
  };
  std::stop_source stop;
  const auto work = [&] {
    while (const auto taken = queue_.take(stop.get_token())) {
      Ledger& ledger = ledgers[std::stoul(taken->name)];
      if (++ledger.workers != 1) ++collisions;
      ledger.seen = ledger.asked.load();
      if (ledger.seen % 16 == 1) queue_.add(*taken, clock_.now());
      for (int i = 0; i < 8; ++i) std::this_thread::yield();  // time to collide in
      --ledger.workers;
      queue_.done(*taken);
    }
  };
  std::vector<std::jthread> workers;
  for (int i = 0; i < 4; ++i) workers.emplace_back(work);
  {
    std::vector<std::jthread> askers;
    for (std::size_t first = 0; first < 3; ++first) {
      askers.emplace_back([&ask, first] {
        for (int i = 0; i < kAsked; ++i)
          ask((first + static_cast<std::size_t>(i)) % kKeys,
              i % 5 == 0 ? Urgency::kDisruption : Urgency::kRoutine);
      });
    }
  }
  const auto are_all_seen = [&] {
    return std::ranges::all_of(ledgers, [](const Ledger& l) { return l.seen == l.asked; });
  };
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!are_all_seen() && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  EXPECT_TRUE(are_all_seen());
  EXPECT_EQ(collisions, 0);
  stop.request_stop();
}

// The thread that waits for the next moment takes the key that is due then; another thread must wait for the
// moment after it.
TEST_F(WorkQueueTest, EachMomentIsKeptWhoeverWaitedForTheOneBefore) {
  const SystemClock clock;
  WorkQueue queue(clock, kIdleHour);
  constexpr int kMoments = 8;
  std::latch taken(kMoments);
  std::stop_source stop;
  std::vector<std::jthread> workers;
  for (int i = 0; i < 3; ++i) {
    workers.emplace_back([&] {  // keeps what it takes for a while: the others are to see the next moments
      while (const auto key = queue.take(stop.get_token())) {
        taken.count_down();
        std::this_thread::sleep_for(milliseconds(15));
        queue.done(*key);
      }
    });
  }
  const Timestamp began = clock.now();
  for (int i = kMoments; i > 0; --i) queue.add(key(std::to_string(i)), began + milliseconds(10 * i));
  const Timestamp limit = began + std::chrono::minutes(2);
  while (!taken.try_wait() && clock.now() < limit) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(taken.try_wait()) << "nobody waits for what is due next";
  stop.request_stop();
}

}  // namespace
}  // namespace ratoon::runtime::work_queue_test
