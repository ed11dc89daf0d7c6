// The board over sockets: ranks that ask, wait, come late and die, and strangers.
#include "agent/src/board/server.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "agent/src/board/client.h"
#include "tests/support/board_fixture.h"

namespace ratoon::board::server_test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Flag = std::shared_ptr<std::atomic<bool>>;

Flag make_flag() {
  return std::make_shared<std::atomic<bool>>(false);
}

Client::Deadline soon() {
  return steady_clock::now() + 2min;
}

class BoardServer : public test::BoardPlace {
 protected:
  BoardServer() : server_(Server::start(listening_.get()).value()) {
    server_->begin_attempt(test::opening_of(1));
  }

  [[nodiscard]] Client rank(std::uint64_t attempt = 1, Flag is_given_up = make_flag(),
                            std::uint32_t number = 0) const {
    return Client({.host = "127.0.0.1",
                   .port = address_.port(),
                   .attempt = attempt,
                   .rank = number,
                   .secret = test::secret_of(attempt),
                   .is_given_up = std::move(is_given_up)});
  }
  static std::vector<std::string> ask(Client& client, Op op, std::vector<std::string> words) {
    auto answer = client.send_request(op, std::move(words), soon());
    EXPECT_TRUE(answer) << answer.error().message();
    return answer ? *answer : std::vector<std::string>{"failed"};
  }
  // The bytes until the server closes the connection, or a whole frame.
  static std::string hear(const UniqueFd& fd) {
    std::string heard;
    char chunk[4096];
    for (;;) {
      const auto size = ::recv(fd.get(), chunk, sizeof chunk, 0);
      if (size < 0 && errno != ECONNRESET) return "silence";
      if (size <= 0) return heard;
      heard.append(chunk, static_cast<std::size_t>(size));
      if (const auto frame = decode(heard); frame && *frame) return heard;
    }
  }
  // A plain connection that has proven itself.
  [[nodiscard]] UniqueFd join() const {
    UniqueFd fd = knock();
    EXPECT_TRUE(say(fd, encode(make_hello(hello_of()))));
    const auto challenge = decode(hear(fd));
    EXPECT_TRUE(challenge && *challenge);
    if (!challenge || !*challenge) return fd;
    EXPECT_TRUE(say(fd, encode(proof_to((*challenge)->frame, hello_of(), test::secret_of(1)))));
    EXPECT_EQ(hear(fd), encode(make_frame(Status::kDone, 1, {})));
    return fd;
  }

  std::unique_ptr<Server> server_;
};

TEST_F(BoardServer, AsksForAsManyOpenFilesAsItsWorldNeeds) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{.rlim_cur = 1024, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  server_->begin_attempt({.attempt = 2, .world_size = 500, .secret = test::secret_of(2)});
  rlimit after{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, std::min<rlim_t>(before.rlim_max, 3024));
  EXPECT_EQ(after.rlim_max, before.rlim_max);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(BoardServer, AnswersManyRanksThatWaitForEachOther) {
  constexpr int kRanks = 40;
  std::vector<std::string> keys;
  for (int i = 0; i < kRanks; ++i) keys.push_back("rank " + std::to_string(i));
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < kRanks; ++i) {
    threads.emplace_back([&, i] {
      Client client = rank(1, make_flag(), static_cast<std::uint32_t>(i));
      ask(client, Op::kSet, {keys[static_cast<std::size_t>(i)], std::string(1000, 'v')});
      right +=
          ask(client, Op::kGet, keys) == std::vector<std::string>(kRanks, std::string(1000, 'v')) ? 1 : 0;
      ask(client, Op::kAdd, {"sum", "1"});
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, kRanks);
  Client client = rank();
  EXPECT_THAT(ask(client, Op::kGet, {"sum"}), ElementsAre(std::to_string(kRanks)));
}

TEST_F(BoardServer, CarriesLargeValuesAndRefusesTooLargeOnes) {
  Client client = rank();
  const std::string large(kFrameBytesMax / 4, 'x');
  ask(client, Op::kSet, {"large", large});
  EXPECT_EQ(ask(client, Op::kGet, {"large"}), std::vector{large});
  const auto refused = client.send_request(Op::kSet, {"k", std::string(kFrameBytesMax, 'x')}, soon());
  EXPECT_EQ(refused.error().kind(), ErrorKind::kInvalid);
  EXPECT_THAT(ask(client, Op::kCount, {}), ElementsAre("1")) << "the connection goes on";
}

TEST_F(BoardServer, AWaitForOtherRanksSaysSo) {
  std::string said;
  Client client({.host = "127.0.0.1",
                 .port = address_.port(),
                 .attempt = 1,
                 .rank = 2,
                 .secret = test::secret_of(1),
                 .is_given_up = make_flag(),
                 .tell = [&said](const std::string& sentence) { said = sentence; },
                 .report_wait_after = 1ms});
  ask(client, Op::kSet, {"here", "1"});  // connected: what may be slow from here on is the others
  said.clear();                          // a slow connection says so, too
  while (said.empty()) ASSERT_FALSE(client.send_request(Op::kGet, {"never"}, steady_clock::now() + 200ms));
  EXPECT_THAT(said, ContainsRegex("rank 2 has waited for [0-9]+ s for ranks that have not connected to "
                                  "127\\.0\\.0\\.1 port"));
}

TEST_F(BoardServer, AWaitEndsWithItsDeadlineAndTheRankAsksOn) {
  Client client = rank();
  const auto late = client.send_request(Op::kGet, {"never"}, steady_clock::now() + 50ms);
  EXPECT_EQ(late.error().kind(), ErrorKind::kTimeout);
  ask(client, Op::kSet, {"never", "after all"});
  EXPECT_THAT(ask(client, Op::kGet, {"never"}), ElementsAre("after all"));
}

TEST_F(BoardServer, AWaitEndsSoonAfterItIsGivenUp) {
  const auto flag = make_flag();
  Client client = rank(1, flag);
  ask(client, Op::kCount, {});
  std::thread other([&] {
    Client second = rank();
    static_cast<void>(second.send_request(Op::kWait, {"never"}, steady_clock::now() + 100ms));
    *flag = true;
  });
  const auto answer = client.send_request(Op::kGet, {"never"}, Client::kNoDeadline);
  other.join();
  EXPECT_EQ(answer.error().kind(), ErrorKind::kCancelled);
  EXPECT_THAT(answer.error().message(),
              HasSubstr("where rank 0 of attempt 1 serves its key-value store was cancelled"));
}

TEST_F(BoardServer, ServesAttemptsInTurnAndTellsThoseThatAreLate) {
  Client old = rank(1);
  Client early = rank(2);
  ask(old, Op::kSet, {"key", "of 1"});
  EXPECT_EQ(early.send_request(Op::kCount, {}, steady_clock::now() + 50ms).error().kind(),
            ErrorKind::kTimeout);
  std::thread before([&] { ask(early, Op::kSet, {"key", "of 2"}); });
  std::thread waiting([&] {
    Client client = rank(1);
    const auto answer = client.send_request(Op::kGet, {"never"}, soon());
    EXPECT_EQ(answer.error().kind(), ErrorKind::kConflict);
    EXPECT_THAT(answer.error().message(), HasSubstr("attempt 2 has begun"));
  });
  server_->begin_attempt(test::opening_of(2));
  waiting.join();
  before.join();
  EXPECT_EQ(old.send_request(Op::kSet, {"key", "late"}, soon()).error().kind(), ErrorKind::kConflict);
  EXPECT_THAT(ask(early, Op::kGet, {"key"}), ElementsAre("of 2"));
}

TEST_F(BoardServer, RefusesAClientWithoutTheSecretAndIsRefusedByIt) {
  Client other({.host = "127.0.0.1",
                .port = address_.port(),
                .attempt = 1,
                .secret = std::string(64, 'x'),
                .is_given_up = make_flag()});
  const auto answer = other.send_request(Op::kCount, {}, soon());
  EXPECT_EQ(answer.error().kind(), ErrorKind::kCorrupted);
  EXPECT_THAT(answer.error().message(), HasSubstr("does not prove that the attempt's secret is known there"));
  EXPECT_THAT(answer.error().message(), Not(HasSubstr("xxxx"))) << "a secret is never said";
}

TEST_F(BoardServer, OutlivesRanksThatDieWhileTheyWait) {
  for (int i = 0; i < 50; ++i) {
    const UniqueFd rank = join();
    EXPECT_TRUE(say(rank, encode(make_frame(Op::kGet, 1, {"key"}))));
  }
  Client client = rank();
  ask(client, Op::kSet, {"key", "value"});
  EXPECT_THAT(ask(client, Op::kGet, {"key"}), ElementsAre("value"));
}

TEST_F(BoardServer, PutsPartsOfFramesTogether) {
  const UniqueFd fd = join();
  for (const char byte : encode(make_frame(Op::kAdd, 1, {"n", "3"}))) EXPECT_TRUE(say(fd, {&byte, 1}));
  EXPECT_EQ(hear(fd), encode(make_frame(Status::kDone, 1, {"3"})));
}

TEST_F(BoardServer, HangsUpOnRanksThatBreakTheProtocol) {
  const std::string waits = encode(make_frame(Op::kGet, 1, {"never"}));
  for (const std::string& bytes : {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("RTB1\xff\xff\xff\xff"),
                                   std::string("RTB1\0\0\0\0", 8), waits + waits}) {
    for (const bool is_rank : {false, true}) {
      const UniqueFd fd = is_rank ? join() : knock();
      EXPECT_TRUE(say(fd, bytes));
      EXPECT_EQ(hear(fd), "");
    }
  }
  Client client = rank();
  EXPECT_THAT(ask(client, Op::kCount, {}), ElementsAre("0"));
}

TEST_F(BoardServer, RefusesAnOpThatItDoesNotKnow) {
  const UniqueFd fd = join();
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(say(fd, encode(make_frame(static_cast<Op>(77), 1, {"a"}))));
    const auto answer = decode(hear(fd)).value();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->frame.kind, static_cast<std::uint8_t>(Status::kRefused));
    EXPECT_THAT(answer->frame.words, ElementsAre(HasSubstr("request 77 with 1 arguments")));
  }
}

TEST_F(BoardServer, EndsWhileRanksAreConnected) {
  Client client = rank();
  ask(client, Op::kCount, {});
  server_.reset();
  EXPECT_EQ(client.send_request(Op::kCount, {}, soon()).error().kind(), ErrorKind::kUnavailable);
  server_ = Server::start(listening_.get()).value();
  server_->begin_attempt(test::opening_of(1));  // the socket was the caller's all the time
  EXPECT_THAT(ask(client, Op::kCount, {}), ElementsAre("0"));
}

TEST_F(BoardServer, SaysWhatItCannotListenOn) {
  EXPECT_THAT(Server::start(-1).error().message(),
              HasSubstr("preparing the listening socket of rank 0's key-value store"));
}

}  // namespace
}  // namespace ratoon::board::server_test
