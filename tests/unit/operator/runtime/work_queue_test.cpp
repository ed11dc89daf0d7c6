#include "operator/runtime/work_queue.h"

#include <set>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace ratoon::runtime {
namespace {

using std::chrono::milliseconds;

JobKey key(const std::string& name) {
  return {.name_space = "default", .name = name};
}

class WorkQueueTest : public testing::Test {
 protected:
  // Nothing if none is due now.
  std::optional<JobKey> take_now() {
    std::stop_source stop;
    std::jthread limit([&] {
      std::this_thread::sleep_for(milliseconds(20));
      stop.request_stop();
    });
    return queue_.take(stop.get_token());
  }

  ManualClock clock_{Timestamp{std::chrono::seconds(100)}};
  WorkQueue queue_{clock_};
};

TEST_F(WorkQueueTest, AKeyComesOutOnceHoweverOftenItWasAskedFor) {
  for (int i = 0; i < 5; ++i) queue_.add_now(key("a"));
  EXPECT_EQ(take_now(), key("a"));
  EXPECT_EQ(take_now(), std::nullopt);
  queue_.add_now(key("a"));  // asked for while it is worked on
  EXPECT_EQ(take_now(), key("a"));
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

// Many others' queues let ten keys a second through, whatever happened.
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
  EXPECT_EQ(queue_.backlog().longest_seconds, 0);
  clock_.advance(milliseconds(2000));
  EXPECT_EQ(queue_.backlog().jobs, 2u);
  EXPECT_EQ(queue_.backlog().longest_seconds, 2);
  EXPECT_EQ(take_now(), key("a"));
  EXPECT_EQ(queue_.backlog().jobs, 1u);
  EXPECT_EQ(queue_.backlog().longest_seconds, 1.5);
}

TEST_F(WorkQueueTest, ASleeperWakesForWhatComes) {
  std::jthread adds([&] {
    std::this_thread::sleep_for(milliseconds(30));
    queue_.add_now(key("new"));
  });
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(queue_.take({}), key("new"));
  EXPECT_LT(std::chrono::steady_clock::now() - began, milliseconds(700))
      << "not at the end of its idle second";
}

}  // namespace
}  // namespace ratoon::runtime
