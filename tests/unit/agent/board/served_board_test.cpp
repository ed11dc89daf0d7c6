#include "agent/src/board/served_board.h"

#include <cstdint>

#include <gtest/gtest.h>
#include <netinet/in.h>

#include "tests/support/board_fixture.h"

namespace ratoon::board::served_board_test {
namespace {

using ServedBoard = test::BoardPlace;

TEST_F(ServedBoard, IsOneForAllThatMeetInAnAttempt) {
  const std::uint16_t port = ntohs(reinterpret_cast<const sockaddr_in*>(address_.get())->sin_port);
  const auto serve = [&](std::uint64_t attempt) {
    return serve_board(port, listening_.get(), test::opening_of(attempt), {});
  };
  const auto client_of = [&](std::uint64_t attempt) {
    return Client({.host = "127.0.0.1",
                   .port = port,
                   .attempt = attempt,
                   .secret = test::secret_of(attempt),
                   .is_given_up = nullptr});
  };
  ASSERT_TRUE(serve(1));
  Client first = client_of(1);
  ASSERT_TRUE(first.send_request(Op::kSet, {"key", "value"}, Client::kNoDeadline));
  ASSERT_TRUE(serve(1)) << "sums and gradients both ask for it";
  const auto known = first.send_request(Op::kCheck, {"key"}, Client::kNoDeadline);
  ASSERT_TRUE(known) << known.error().message();
  EXPECT_EQ((*known)[0], "1");
  ASSERT_TRUE(serve(2));
  Client second = client_of(2);
  const auto known_to_second = second.send_request(Op::kCheck, {"key"}, Client::kNoDeadline);
  ASSERT_TRUE(known_to_second) << known_to_second.error().message();
  EXPECT_EQ((*known_to_second)[0], "0");
}

TEST_F(ServedBoard, LooksAroundWhileARankWaits) {
  struct Left {};
  const std::uint16_t port = ntohs(reinterpret_cast<const sockaddr_in*>(address_.get())->sin_port);
  ASSERT_TRUE(serve_board(port, listening_.get(), test::opening_of(3), {}));
  int looks = 0;
  Client client({.host = "127.0.0.1",
                 .port = port,
                 .attempt = 3,
                 .secret = test::secret_of(3),
                 .is_given_up = nullptr,
                 .look = [&] {
                   if (++looks == 5) throw Left();
                 }});
  EXPECT_THROW(static_cast<void>(client.send_request(Op::kGet, {"never"}, Client::kNoDeadline)), Left);
}

}  // namespace
}  // namespace ratoon::board::served_board_test
