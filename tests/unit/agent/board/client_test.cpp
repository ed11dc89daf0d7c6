// A rank that connects where no board listens, or where the board does not answer.
#include "agent/src/board/client.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

namespace ratoon::board::client_test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using testing::ContainsRegex;
using testing::HasSubstr;

// Bound to loopback.
struct Place {
  SocketAddress address;
  UniqueFd fd;

  explicit Place(const std::string& host)
      : address(read_ip(host, 0).value()),
        fd(::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    is_there = ::bind(fd.get(), address.get(), address.size) == 0 &&
               ::getsockname(fd.get(), address.get(), &address.size) == 0;
  }
  void listen() const { EXPECT_EQ(::listen(fd.get(), 1), 0); }
  [[nodiscard]] Client client(const std::string& host, std::shared_ptr<std::atomic<bool>> flag) const {
    return Client({.host = host,
                   .port = address.port(),
                   .attempt = 3,
                   .secret = std::string(64, 's'),
                   .is_given_up = std::move(flag)});
  }

  bool is_there = false;
};

class BoardClient : public testing::Test {
 protected:
  Error count(Client& client, std::chrono::milliseconds within) {
    auto answer = client.send_request(Op::kCount, {}, steady_clock::now() + within);
    return answer ? Error(ErrorKind::kInvalid, "it was answered") : answer.error();
  }

  std::shared_ptr<std::atomic<bool>> flag_ = std::make_shared<std::atomic<bool>>(false);
  Place place_{"127.0.0.1"};
};

TEST_F(BoardClient, SaysAfterAWhileForWhomItWaits) {
  std::string said;
  Client client({.host = "127.0.0.1",
                 .port = place_.address.port(),
                 .attempt = 3,
                 .rank = 5,
                 .secret = std::string(64, 's'),
                 .is_given_up = flag_,
                 .tell = [&said](const std::string& sentence) { said = sentence; },
                 .report_wait_after = 1ms});
  while (said.empty()) static_cast<void>(count(client, 200ms));
  EXPECT_THAT(said, ContainsRegex("rank 5 has waited for [0-9]+ s for 127\\.0\\.0\\.1 port " +
                                  std::to_string(place_.address.port()) +
                                  ", where rank 0 of attempt 3 serves its key-value store"));
  EXPECT_THAT(said, HasSubstr("RATOON_POD_IP"));
}

TEST_F(BoardClient, KnocksAgainUntilSomebodyListensAndDoesNotHangUp) {
  Client client = place_.client("127.0.0.1", flag_);
  const Error refused = count(client, 100ms);
  EXPECT_THAT(refused.message(),
              HasSubstr("connecting to 127.0.0.1 port " + std::to_string(place_.address.port()) +
                        ", where rank 0 of attempt 3 serves its key-value store"));
  std::thread late([&] {
    std::this_thread::yield();
    place_.listen();
    for (const bool answers : {false, false, true}) {
      const UniqueFd fd(::accept(place_.fd.get(), nullptr, nullptr));
      char chunk[256];
      EXPECT_GT(::recv(fd.get(), chunk, sizeof chunk, 0), 0);
      const std::string over = encode(make_frame(Status::kOver, 3, {"4"}));
      if (!answers) continue;
      EXPECT_EQ(::send(fd.get(), over.data(), over.size(), MSG_NOSIGNAL), static_cast<ssize_t>(over.size()));
    }
  });
  const Error told = count(client, 1h);
  EXPECT_EQ(told.kind(), ErrorKind::kConflict);
  EXPECT_THAT(told.message(), HasSubstr("attempt 4 has begun"));
  late.join();
}

TEST_F(BoardClient, WaitsForAnAnswerUntilItsDeadlineOrUntilItIsGivenUp) {
  place_.listen();
  Client client = place_.client("127.0.0.1", flag_);
  EXPECT_EQ(count(client, 50ms).kind(), ErrorKind::kTimeout);
  *flag_ = true;
  EXPECT_EQ(count(client, 1h).kind(), ErrorKind::kCancelled);
}

// A full queue of connections drops new ones: for the client this looks like a dead host.
TEST_F(BoardClient, ConnectsToADeadHostNoLongerThanItMay) {
  place_.listen();
  std::vector<UniqueFd> queue;
  for (int i = 0; i < 4; ++i) {
    queue.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    static_cast<void>(::connect(queue.back().get(), place_.address.get(), place_.address.size));
  }
  Client client = place_.client("127.0.0.1", flag_);
  EXPECT_EQ(count(client, 60ms).kind(), ErrorKind::kTimeout);
  *flag_ = true;
  const Error given_up = count(client, 1h);
  EXPECT_EQ(given_up.kind(), ErrorKind::kCancelled);
  EXPECT_THAT(given_up.message(), HasSubstr("connecting to"));
}

TEST_F(BoardClient, TakesNoAnswerOfAStranger) {
  place_.listen();
  std::thread stranger([&] {
    for (const std::string& bytes :
         {std::string("220 mail ready\r\n"), encode(make_frame(Op::kSet, 3, {})),
          encode(make_frame(Status::kDone, 3, {})), encode(make_frame(Status::kChallenge, 3, {})),
          encode(make_frame(Status::kChallenge, 3, {std::string(32, 'n'), std::string(32, 'p')}))}) {
      const UniqueFd fd(::accept(place_.fd.get(), nullptr, nullptr));
      EXPECT_EQ(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(bytes.size()));
      char chunk[256];
      while (::recv(fd.get(), chunk, sizeof chunk, 0) > 0) continue;
    }
  });
  Client client = place_.client("127.0.0.1", flag_);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(count(client, 1h).kind(), ErrorKind::kCorrupted);
  stranger.join();
}

TEST_F(BoardClient, ResolvesNoNames) {
  for (const std::string host : {"localhost", "rank-0.job", "", "[::1]", "127.1"}) {
    Client client = place_.client(host, flag_);
    const Error error = count(client, 1h);
    EXPECT_EQ(error.kind(), ErrorKind::kInvalid);
    EXPECT_EQ(error.message(), "the address of rank 0 must be numeric, found '" + host + "'");
  }
}

TEST_F(BoardClient, SpeaksIpv6) {
  const Place place("::1");
  if (!place.is_there) GTEST_SKIP() << "no IPv6";
  place.listen();
  Client client = place.client("::1", flag_);
  EXPECT_EQ(count(client, 50ms).kind(), ErrorKind::kTimeout) << "connected, and nobody answers";
}

}  // namespace
}  // namespace ratoon::board::client_test
