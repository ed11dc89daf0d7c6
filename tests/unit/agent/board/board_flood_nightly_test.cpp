// Floods of strangers, from a separate process: ranks still connect, and the time of the board's thread is
// bounded, since this process has no other work.
#include <array>
#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/src/board/server.h"
#include "tests/support/board_fixture.h"

namespace ratoon::board::board_flood_test {
namespace {

using std::chrono::steady_clock;

constexpr auto kFor = std::chrono::seconds(20);
constexpr double kShareOfACore = 0.25;
constexpr std::size_t kHeldMax = 600;

double processor_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

struct Flood {
  const char* name;
  std::string says;  // on each connection
  bool holds = false;
};

class BoardFlood : public test::BoardPlace, public testing::WithParamInterface<Flood> {
 protected:
  // The flood lasts until the process is killed.
  [[noreturn]] void flood() const {
    std::vector<UniqueFd> held;
    for (;;) {
      UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
      static_cast<void>(::connect(fd.get(), address_.get(), address_.size));
      static_cast<void>(say(fd, GetParam().says));
      if (GetParam().holds) held.push_back(std::move(fd));
      if (held.size() >= kHeldMax) held.clear();
    }
  }
};

TEST_P(BoardFlood, LetsRanksThroughAndCostsLittle) {
  const pid_t stranger = ::fork();
  ASSERT_GE(stranger, 0);
  if (stranger == 0) flood();
  const auto server = Server::start(listening_.get()).value();
  server->begin_attempt(test::opening_of(1));
  const auto given_up = std::make_shared<std::atomic<bool>>(false);
  const auto began = steady_clock::now();
  const double used = processor_seconds();
  int asked = 0;
  for (; steady_clock::now() < began + kFor; ++asked) {
    Client client({.host = "127.0.0.1",
                   .port = address_.port(),
                   .attempt = 1,
                   .rank = 1,
                   .secret = test::secret_of(1),
                   .is_given_up = given_up});
    const auto answer = client.send_request(Op::kCount, {}, Client::kNoDeadline);
    EXPECT_TRUE(answer) << answer.error().message();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  const double took = std::chrono::duration<double>(steady_clock::now() - began).count();
  EXPECT_LT(processor_seconds() - used, kShareOfACore * took);
  EXPECT_EQ(::waitpid(stranger, nullptr, WNOHANG), 0) << "it floods to the end";
  EXPECT_EQ(::kill(stranger, SIGKILL), 0);
  EXPECT_EQ(::waitpid(stranger, nullptr, 0), stranger);
  std::printf("%d ranks came through\n", asked);
}

std::string hello() {
  return encode(make_hello({.attempt = 1, .rank = 0, .nonce = std::string(2 * kNonceBytes, 'x')}));
}

INSTANTIATE_TEST_SUITE_P(Strangers, BoardFlood,
                         testing::Values(Flood{.name = "ThatComeAndGo", .says = ""},
                                         Flood{.name = "ThatStay", .says = "", .holds = true},
                                         Flood{.name = "ThatSayHello", .says = hello(), .holds = true},
                                         Flood{.name = "ThatSayTooMuch", .says = std::string(100'000, 'R')}),
                         [](const auto& flood) { return std::string(flood.param.name); });

}  // namespace
}  // namespace ratoon::board::board_flood_test
