#include "operator/runtime/scheduling/fair_queue.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ratoon::runtime::fair_queue_test {
namespace {

using namespace std::chrono_literals;

constexpr Duration kQuick = 10ms;
constexpr Duration kLong = FairQueue::kSlowTurn;

JobKey job(const std::string& name_space, int number) {
  return {.name_space = name_space, .name = std::to_string(number)};
}

class FairQueueTest : public testing::Test {
 protected:
  void add(const JobKey& key, Urgency urgency = Urgency::kRoutine) { queue_.add(key, urgency, now_); }
  // A job whose last turn was long.
  void add_slow(const JobKey& key) {
    add(key);
    EXPECT_EQ(queue_.take(now_), key);
    queue_.give_back(key, kLong);
    add(key);
  }
  std::vector<JobKey> take_all() {
    std::vector<JobKey> taken;
    while (const auto key = queue_.take(now_)) taken.push_back(*key);
    return taken;
  }
  std::map<std::string, std::size_t> taken_by_namespace() {
    std::map<std::string, std::size_t> number;
    for (const auto& key : take_all()) ++number[key.name_space];
    return number;
  }

  Timestamp now_{1h};
  FairQueue queue_{{.per_namespace_max = 4, .slow_max = 6, .slow_per_namespace_max = 2}};
};

TEST_F(FairQueueTest, ANamespaceWithFewerWorkersComesFirst) {
  for (int i = 0; i < 60; ++i) add(job("crowd", i));
  now_ = now_ + 1ms;
  add(job("one", 0));
  EXPECT_EQ(queue_.take(now_)->name_space, "crowd") << "both have no worker, and it waits longer";
  EXPECT_EQ(queue_.take(now_), job("one", 0)) << "though 59 jobs were due before it";
}

TEST_F(FairQueueTest, ANamespaceWithAWorkerWaitsForOneThatHasNoneAndWasServedLater) {
  for (int i = 0; i < 2; ++i) add(job("a", i));
  EXPECT_EQ(queue_.take(now_), job("a", 0));
  add(job("b", 0));
  EXPECT_EQ(queue_.take(now_), job("b", 0));
  queue_.give_back(job("b", 0), kQuick);
  add(job("b", 1));
  EXPECT_EQ(queue_.take(now_), job("b", 1));
}

// One worker: each job is given back before the next one is taken.
TEST_F(FairQueueTest, ANamespaceWaitsForOneTurnOfEachOtherNamespace) {
  FairQueue queue({});
  const auto turn = [&] {
    const auto key = queue.take(now_);
    queue.give_back(*key, kQuick);
    return *key;
  };
  for (int i = 0; i < 1000; ++i) queue.add(job("crowd", i), Urgency::kDisruption, now_);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(turn().name_space, "crowd");
  queue.add(job("one", 0), Urgency::kDisruption, now_);
  EXPECT_EQ(turn().name_space, "crowd");
  EXPECT_EQ(turn(), job("one", 0));
}

TEST_F(FairQueueTest, AJobThatComesBackAtOnceLetsOtherNamespacesPass) {
  FairQueue queue({});
  for (int i = 0; i < 3; ++i) queue.add(job("a", i), Urgency::kDisruption, now_);
  std::vector<std::string> order;
  queue.add(job("flood", 0), Urgency::kDisruption, now_);
  for (int i = 0; i < 6; ++i) {
    const auto key = *queue.take(now_);
    order.push_back(key.name_space);
    queue.give_back(key, kQuick);
    if (key.name_space == "flood") queue.add(key, Urgency::kDisruption, now_);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"a", "flood", "a", "flood", "a", "flood"}));
}

TEST_F(FairQueueTest, ANamespaceHasFourWorkersAtMost) {
  for (int i = 0; i < 9; ++i) add(job("a", i));
  for (int i = 0; i < 2; ++i) add(job("b", i));
  EXPECT_EQ(taken_by_namespace(), (std::map<std::string, std::size_t>{{"a", 4}, {"b", 2}}));
  EXPECT_EQ(queue_.backlog(now_).jobs, 5U);
  queue_.give_back(job("a", 1), kQuick);
  EXPECT_EQ(take_all(), std::vector{job("a", 4)});
}

// Jobs whose calls hang leave workers for the other jobs of their namespace and for other namespaces.
TEST_F(FairQueueTest, SlowJobsHaveOnlyAPartOfTheWorkers) {
  for (int i = 0; i < 4; ++i) add_slow(job("a", i));
  EXPECT_EQ(take_all(), (std::vector{job("a", 0), job("a", 1)}));
  for (int i = 10; i < 15; ++i) add(job("a", i));
  EXPECT_EQ(take_all(), (std::vector{job("a", 10), job("a", 11)}));
}

TEST_F(FairQueueTest, SlowJobsOfAllNamespacesHaveOnlyAPartOfTheWorkers) {
  const std::vector<std::string> name_spaces = {"a", "b", "c", "d", "e"};
  for (const auto& name_space : name_spaces) {
    for (int i = 0; i < 2; ++i) {
      add(job(name_space, i));
      ASSERT_EQ(queue_.take(now_), job(name_space, i));
      queue_.give_back(job(name_space, i), kLong);
    }
  }
  for (const auto& name_space : name_spaces)
    for (int i = 0; i < 2; ++i) add(job(name_space, i));
  EXPECT_EQ(take_all().size(), 6U);
  add(job("f", 0));
  EXPECT_EQ(take_all(), std::vector{job("f", 0)});
}

TEST_F(FairQueueTest, AJobIsSlowAfterATurnOfFiveSecondsUntilATurnIsShorter) {
  FairQueue queue({.slow_max = 1});
  const auto add_again = [&](const JobKey& key, Duration turn) {
    queue.give_back(key, turn);
    queue.add(key, Urgency::kRoutine, now_);
  };
  for (int i = 0; i < 2; ++i) queue.add(job("a", i), Urgency::kRoutine, now_);
  for (int i = 0; i < 2; ++i) ASSERT_EQ(queue.take(now_), job("a", i));
  for (int i = 0; i < 2; ++i) add_again(job("a", i), kLong);
  EXPECT_EQ(queue.take(now_), job("a", 0));
  EXPECT_EQ(queue.take(now_), std::nullopt) << "both are slow";
  add_again(job("a", 0), kLong - 1ms);
  EXPECT_EQ(queue.take(now_), job("a", 0));
  EXPECT_EQ(queue.take(now_), job("a", 1)) << "one is slow";
}

TEST_F(FairQueueTest, AJobThatIsGoneIsForgotten) {
  FairQueue queue({.slow_max = 1});
  for (int i = 0; i < 2; ++i) queue.add(job("a", i), Urgency::kRoutine, now_);
  for (int i = 0; i < 2; ++i) ASSERT_EQ(queue.take(now_), job("a", i));
  for (int i = 0; i < 2; ++i) queue.give_back(job("a", i), kLong);
  queue.forget(job("a", 1));
  for (int i = 0; i < 2; ++i) queue.add(job("a", i), Urgency::kRoutine, now_ + 1ms * (1 - i));
  now_ = now_ + 1ms;
  EXPECT_EQ(queue.take(now_), job("a", 1)) << "it is a new job of this name, and not slow";
  EXPECT_EQ(queue.take(now_), job("a", 0)) << "no other slow job has a worker";
}

// The calls of all jobs begin to hang at one moment, and none of the jobs is known as slow.
TEST_F(FairQueueTest, AWorkerWhoseTurnLastsLongIsReplacedByAnother) {
  FairQueue queue({.per_namespace_max = 2, .active_max = 4});
  for (const char* name_space : {"a", "b", "c"})
    for (int i = 0; i < 2; ++i) queue.add(job(name_space, i), Urgency::kRoutine, now_);
  const Timestamp began = now_;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue.take(now_));
  EXPECT_EQ(queue.next_worker_free_at(now_), std::nullopt) << "the fourth worker is free";
  now_ = now_ + 100ms;
  ASSERT_TRUE(queue.take(now_));
  EXPECT_EQ(queue.take(now_), std::nullopt) << "four workers are active";
  EXPECT_EQ(queue.next_worker_free_at(now_), began + FairQueue::kHangingTurn);
  now_ = began + FairQueue::kHangingTurn - 1ms;
  EXPECT_EQ(queue.take(now_), std::nullopt);
  now_ = began + FairQueue::kHangingTurn;
  EXPECT_EQ(queue.next_worker_free_at(now_), std::nullopt);
  EXPECT_TRUE(queue.take(now_));
  EXPECT_TRUE(queue.take(now_));
  for (int i = 0; i < 3; ++i) queue.add(job("d", i), Urgency::kRoutine, now_);
  EXPECT_TRUE(queue.take(now_)) << "three turns last for less than the limit";
  EXPECT_EQ(queue.next_worker_free_at(now_), began + 100ms + FairQueue::kHangingTurn);
  queue.give_back(job("d", 0), kQuick);
  EXPECT_EQ(queue.take(now_), job("d", 1)) << "a place is free after a turn, too";
}

TEST_F(FairQueueTest, ADisruptionComesBeforeRoutineDecisionsThatWaitForLessThanASecond) {
  add(job("a", 0));
  now_ = now_ + 999ms;
  add(job("a", 1), Urgency::kDisruption);
  add(job("a", 2), Urgency::kDisruption);
  EXPECT_EQ(queue_.take(now_), job("a", 1));
  now_ = now_ + 1ms;
  EXPECT_EQ(queue_.take(now_), job("a", 0)) << "it has waited for a second";
  EXPECT_EQ(queue_.take(now_), job("a", 2));
}

TEST_F(FairQueueTest, ARemovedJobIsNotTaken) {
  add(job("a", 0));
  add(job("a", 1));
  queue_.remove(job("a", 0), Urgency::kRoutine, now_);
  queue_.remove(job("b", 0), Urgency::kRoutine, now_);
  EXPECT_EQ(take_all(), std::vector{job("a", 1)});
  queue_.give_back(job("a", 1), kQuick);
  EXPECT_TRUE(queue_.is_empty());
}

TEST_F(FairQueueTest, TheBacklogSaysHowLongTheFirstJobWaits) {
  add(job("a", 0));
  now_ = now_ + 2s;
  add(job("b", 0), Urgency::kDisruption);
  EXPECT_EQ(queue_.backlog(now_).jobs, 2U);
  EXPECT_EQ(queue_.backlog(now_).longest_wait_seconds, 2);
}

}  // namespace
}  // namespace ratoon::runtime::fair_queue_test
