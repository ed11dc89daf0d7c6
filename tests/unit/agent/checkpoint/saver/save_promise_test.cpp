// Waits for a save, of any length.
#include "agent/src/checkpoint/saver/save_promise.h"

#include <future>

#include <gtest/gtest.h>

#include "base/core/threads/pause.h"

namespace ratoon::save_promise_test {
namespace {

TEST(SavePromise, AWaitForEverIsOne) {
  const checkpoint::SavePromise ticket;
  const SaveTicket given_out = ticket;
  auto waiting = std::async(std::launch::async, [&given_out] {
    return given_out.wait(SaveLevel::kStaged, std::chrono::nanoseconds::max());
  });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  ticket.reach(SaveLevel::kStaged);
  const auto reached = waiting.get();
  EXPECT_TRUE(reached) << reached.error().message();
}

TEST(SavePromise, AWaitThatIsOverSaysSo) {
  const checkpoint::SavePromise ticket;
  EXPECT_EQ(ticket.wait(SaveLevel::kStaged, std::chrono::nanoseconds(1)).error().kind(), ErrorKind::kTimeout);
}

TEST(Waitable, IsATimeThatAnyClockCanAddToNow) {
  const auto now = std::chrono::steady_clock::now();
  EXPECT_GT(now + limit_to_one_year(Duration::max()), now);
  EXPECT_EQ(limit_to_one_year(std::chrono::seconds(7)), std::chrono::seconds(7));
}

}  // namespace
}  // namespace ratoon::save_promise_test
