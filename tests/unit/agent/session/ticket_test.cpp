// Waits for a save, of any length.
#include "agent/src/checkpoint/ticket.h"

#include <future>

#include <gtest/gtest.h>

#include "base/core/pause.h"

namespace ratoon::ticket_test {
namespace {

TEST(Ticket, AWaitForEverIsOne) {
  const checkpoint::Ticket ticket;
  const SaveTicket given_out = ticket;
  auto waiting = std::async(std::launch::async, [&given_out] {
    return given_out.wait(SaveLevel::kStaged, std::chrono::nanoseconds::max());
  });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  ticket.reach(SaveLevel::kStaged);
  const auto reached = waiting.get();
  EXPECT_TRUE(reached) << reached.error().message();
}

TEST(Ticket, AWaitThatIsOverSaysSo) {
  const checkpoint::Ticket ticket;
  EXPECT_EQ(ticket.wait(SaveLevel::kStaged, std::chrono::nanoseconds(1)).error().kind(), ErrorKind::kTimeout);
}

TEST(Waitable, IsATimeThatAnyClockCanAddToNow) {
  const auto now = std::chrono::steady_clock::now();
  EXPECT_GT(now + waitable(Duration::max()), now);
  EXPECT_EQ(waitable(std::chrono::seconds(7)), std::chrono::seconds(7));
}

}  // namespace
}  // namespace ratoon::ticket_test
