// Strangers on the board, by a clock that the test moves: they use few resources, for a short time, and
// change nothing.
#include "agent/src/board/connections.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "tests/support/board_fixture.h"

namespace ratoon::board::connections_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

class BoardStrangers : public test::BoardPlace {
 protected:
  static constexpr auto kPatience = 30s;

  BoardStrangers() {
    EXPECT_EQ(::fcntl(listening_.get(), F_SETFL, O_NONBLOCK), 0);
    epoll_event event{.events = EPOLLIN, .data = {.u64 = Connections::kListeningId}};
    EXPECT_EQ(::epoll_ctl(events_.get(), EPOLL_CTL_ADD, listening_.get(), &event), 0);
    connections_.begin_attempt(test::opening_of(1));
  }

  // Runs one round of the server's thread.
  void turn() {
    static_cast<void>(connections_.handle_timeouts());
    std::array<epoll_event, 64> ready{};
    const int count = ::epoll_wait(events_.get(), ready.data(), static_cast<int>(ready.size()), 0);
    for (int i = 0; i < count; ++i) {
      const std::uint64_t id = ready[static_cast<std::size_t>(i)].data.u64;
      if (id == Connections::kListeningId)
        connections_.accept_all();
      else
        connections_.continue_io(id);
    }
  }
  // If the board never does the expected action, the test fails and ends.
  template <class Condition>
  void turn_until(const Condition& is_met) {
    for (const auto began = std::chrono::steady_clock::now(); !is_met(); std::this_thread::yield()) {
      turn();
      if (std::chrono::steady_clock::now() - began < kPatience) continue;
      ADD_FAILURE() << "the board does not get there";
      return;
    }
  }
  void turn_until_held(std::size_t count) {
    turn_until([&] { return connections_.size() == count; });
  }
  static bool is_hung_up(const UniqueFd& fd) {
    char byte = 0;
    const auto size = ::recv(fd.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    return size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR);
  }
  // A whole frame, or nothing if the board closed the connection.
  std::optional<Frame> hear(const UniqueFd& fd) {
    std::string heard;
    std::optional<Frame> frame;
    turn_until([&] {
      char byte = 0;
      ssize_t size = 0;
      while (!frame && (size = ::recv(fd.get(), &byte, 1, MSG_DONTWAIT)) > 0) {
        heard.push_back(byte);
        const auto decoded = decode(heard);
        if (decoded && *decoded) frame = (*decoded)->frame;
      }
      return frame || size == 0 || errno == ECONNRESET;
    });
    return frame;
  }
  std::optional<Frame> ask(const UniqueFd& fd, const Frame& frame) {
    EXPECT_TRUE(say(fd, encode(frame)));
    return hear(fd);
  }
  // The status of the answer, and its first word.
  std::string told(const std::optional<Frame>& answer) {
    if (!answer) return "hung up";
    const std::string word = answer->words.empty() ? "" : " " + answer->words[0];
    return (answer->kind == static_cast<std::uint8_t>(Status::kDone) ? "done" : "no") + word;
  }
  UniqueFd join(std::uint32_t rank, std::uint64_t attempt = 1) {
    UniqueFd fd = knock();
    const Hello hello = hello_of(rank, attempt);
    const auto challenge = ask(fd, make_hello(hello));
    EXPECT_TRUE(challenge);
    if (!challenge) return fd;
    EXPECT_EQ(told(ask(fd, proof_to(*challenge, hello, test::secret_of(attempt)))), "done");
    return fd;
  }

  ManualClock clock_{Timestamp{1000s}};
  UniqueFd events_{::epoll_create1(EPOLL_CLOEXEC)};
  UnauthenticatedClientLimits limits_{
      .connections_max = 8, .connections_per_second = 40, .burst_size = 24, .resume_connections_min = 4};
  std::vector<std::string> told_once_;
  Connections connections_{events_.get(), listening_.get(), clock_, limits_,
                           [this](const std::string& sentence) { told_once_.push_back(sentence); }};
};

// The number of files that a process may have open, until the end of a test.
class OpenFilesLimit {
 public:
  explicit OpenFilesLimit(std::size_t files) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit now{.rlim_cur = files, .rlim_max = before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &now), 0);
  }
  ~OpenFilesLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  OpenFilesLimit(const OpenFilesLimit&) = delete;
  OpenFilesLimit& operator=(const OpenFilesLimit&) = delete;

 private:
  rlimit before_{};
};

TEST_F(BoardStrangers, AProcessThatMayOpenNoMoreFilesSaysSoOnceAndGoesOnLater) {
  std::vector<UniqueFd> ranks;
  for (int i = 0; i < 3; ++i) ranks.push_back(knock());
  {
    // The lowest free number is too high.
    const auto free = static_cast<std::size_t>(UniqueFd(::dup(0)).get());
    const OpenFilesLimit limit(free);
    turn_until([&] { return !told_once_.empty(); });
    clock_.advance(1s);
    for (int i = 0; i < 10; ++i) turn();
    EXPECT_EQ(connections_.size(), 0u);
  }
  ASSERT_EQ(told_once_.size(), 1u);
  EXPECT_THAT(told_once_[0], testing::AllOf(HasSubstr("open connections: 0;"),
                                            HasSubstr("Too many open files"), HasSubstr("ulimit -n")));
  turn_until([&] {
    clock_.advance(1s);
    return connections_.size() == 3;
  });
  EXPECT_EQ(told_once_.size(), 1u);
}

TEST(ConnectionsFor, AreAFewOfEachRank) {
  EXPECT_EQ(connections_max_for(8), 16'384u);
  EXPECT_EQ(connections_max_for(65'536), 262'144u);
  EXPECT_EQ(open_files_needed_for(8, 1024), 1056u);
}

TEST_F(BoardStrangers, WithoutAHandshakeAreHungUpOn) {
  const UniqueFd silent = knock();
  const UniqueFd half = knock();
  const std::string hello = encode(make_hello(hello_of()));
  EXPECT_TRUE(say(half, hello.substr(0, hello.size() / 2)));
  const UniqueFd challenged = knock();
  EXPECT_TRUE(ask(challenged, make_hello(hello_of())));
  const UniqueFd rank = join(0);
  turn_until_held(4);
  clock_.advance(9999ms);
  turn();
  EXPECT_EQ(connections_.size(), 4u);
  clock_.advance(1ms);
  turn();
  EXPECT_EQ(connections_.size(), 1u);
  for (const UniqueFd* fd : {&silent, &half, &challenged}) EXPECT_TRUE(is_hung_up(*fd));
  EXPECT_EQ(told(ask(rank, make_frame(Op::kCount, 1, {}))), "done 0") << "a rank may be silent for hours";
}

TEST_F(BoardStrangers, ThatFloodItAreHeldInSmallNumbersAndARankComesThrough) {
  std::vector<UniqueFd> flood;
  for (int i = 0; i < 40; ++i) flood.push_back(knock());
  turn_until_held(8);
  for (int i = 0; i < 100; ++i) turn();
  EXPECT_EQ(connections_.size(), 8u) << "and no more";
  // The new connection is behind all of them.
  const UniqueFd rank = knock();
  EXPECT_TRUE(say(rank, encode(make_hello(hello_of()))));
  std::size_t most = 0;
  std::optional<Frame> challenge;
  std::string heard;
  while (!challenge) {
    clock_.advance(100ms);
    for (int i = 0; i < 20; ++i) turn();
    most = std::max(most, connections_.size());
    char chunk[256];
    const auto size = ::recv(rank.get(), chunk, sizeof chunk, MSG_DONTWAIT);
    ASSERT_NE(size, 0) << "it was hung up on";
    if (size > 0) heard.append(chunk, static_cast<std::size_t>(size));
    if (const auto decoded = decode(heard); decoded && *decoded) challenge = (*decoded)->frame;
  }
  EXPECT_EQ(most, 8u);
  EXPECT_EQ(told(ask(rank, proof_to(*challenge, hello_of(), test::secret_of(1)))), "done");
}

// A client has the whole time of a handshake, while 200 strangers come from another address.
TEST_F(BoardStrangers, ThatFloodItTakeNoPlaceFromARankThatIsSlow) {
  const UniqueFd rank = knock_from("127.0.0.2");
  turn_until_held(1);
  std::vector<UniqueFd> flood;
  std::size_t most = 0;
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 4; ++i) flood.push_back(knock());
    clock_.advance(150ms);
    for (int i = 0; i < 20; ++i) turn();
    most = std::max(most, connections_.size());
  }
  EXPECT_EQ(most, 8u);
  EXPECT_GT(std::ranges::count_if(flood, [](const auto& fd) { return is_hung_up(fd); }), 100);
  ASSERT_FALSE(is_hung_up(rank));
  const auto challenge = ask(rank, make_hello(hello_of()));
  ASSERT_TRUE(challenge);
  EXPECT_EQ(told(ask(rank, proof_to(*challenge, hello_of(), test::secret_of(1)))), "done");
}

TEST_F(BoardStrangers, ThatComeAndGoAreTakenSoManyASecond) {
  std::vector<UniqueFd> flood;
  for (int i = 0; i < 60; ++i) {
    flood.push_back(knock());
    EXPECT_EQ(::shutdown(flood.back().get(), SHUT_WR), 0);
  }
  const auto taken = [&] {
    return std::ranges::count_if(flood, [](const auto& fd) { return is_hung_up(fd); });
  };
  turn_until([&] { return taken() == 24; });
  for (int i = 0; i < 100; ++i) turn();
  EXPECT_EQ(taken(), 24) << "while no time passes";
  clock_.advance(500ms);
  turn_until([&] { return taken() == 44; });
  for (int i = 0; i < 100; ++i) turn();
  EXPECT_EQ(taken(), 44) << "40 a second";
}

TEST_F(BoardStrangers, AreNotWhatRanksCount) {
  std::vector<UniqueFd> ranks;
  for (std::uint32_t i = 0; i < 200; ++i) ranks.push_back(join(i % 50));
  EXPECT_EQ(connections_.size(), 200u) << "of 24 in a row and 8 at once";
}

TEST_F(BoardStrangers, ThatSayTooMuchAreHungUpOn) {
  const std::string large =
      encode(make_frame(Op::kHello, 1, {"0", std::string(kHandshakeFrameBytesMax, 'n')}));
  const std::string head("RTB1\0\0\x10\0", 8);  // of a frame of 1 MiB, as a rank may send
  for (const std::string& bytes : {large, head}) {
    const UniqueFd fd = knock();
    EXPECT_TRUE(say(fd, bytes));
    EXPECT_EQ(hear(fd), std::nullopt);
  }
  // A frame that arrives byte by byte and is never whole.
  const UniqueFd dripping = knock();
  EXPECT_TRUE(say(dripping, std::string_view("RTB1\x90\x01\0\0", 8)));
  for (int said = 0; said < 390 && !is_hung_up(dripping); ++said) {
    static_cast<void>(say(dripping, "."));
    turn();
  }
  EXPECT_TRUE(is_hung_up(dripping));
}

TEST_F(BoardStrangers, ThatAskBeforeTheyProveAreHungUpOnAndChangeNothing) {
  const UniqueFd stranger = knock();
  EXPECT_EQ(told(ask(stranger, make_frame(Op::kMark, 1, {"forged"}))), "hung up");
  const UniqueFd rank = join(0);
  EXPECT_EQ(told(ask(rank, make_frame(Op::kCount, 1, {}))), "done 0");
}

TEST_F(BoardStrangers, ThatReplayWhatARankSaidProveNothing) {
  const UniqueFd rank = knock();
  const Hello hello = hello_of(3);
  const auto challenge = ask(rank, make_hello(hello));
  ASSERT_TRUE(challenge);
  const Frame proof = proof_to(*challenge, hello, test::secret_of(1));
  EXPECT_EQ(told(ask(rank, proof)), "done");
  const UniqueFd stranger = knock();
  const auto other = ask(stranger, make_hello(hello));
  ASSERT_TRUE(other);
  EXPECT_NE(other->words[0], challenge->words[0]) << "a challenge is drawn for each connection";
  EXPECT_THAT(told(ask(stranger, proof)), HasSubstr("not made with the secret of attempt 1"));
  EXPECT_EQ(hear(stranger), std::nullopt) << "and it is hung up on";
}

TEST_F(BoardStrangers, ThatAnswerWithTheBoardsOwnProofProveNothing) {
  const UniqueFd stranger = knock();
  const auto challenge = ask(stranger, make_hello(hello_of()));
  ASSERT_TRUE(challenge);
  EXPECT_THAT(told(ask(stranger, make_frame(Op::kProve, 1, {challenge->words[1]}))),
              HasSubstr("not made with the secret"));
}

TEST_F(BoardStrangers, OfAnAttemptThatIsStillToBeginSetNothingInIt) {
  // A rank of this attempt, with its secret: the next world may do without it.
  const UniqueFd member = join(1);
  ASSERT_EQ(told(ask(member, make_frame(Op::kMark, 2, {"forged"}))), "hung up");
  const UniqueFd early = knock();
  EXPECT_TRUE(say(early, encode(make_hello(hello_of(1, 2)))));
  const UniqueFd rank = join(0);
  EXPECT_EQ(told(ask(rank, make_frame(Op::kSet, 1, {"key", "of 1"}))), "done");
  turn_until_held(2);
  connections_.begin_attempt(test::opening_of(2));
  const auto challenge = hear(early);
  ASSERT_TRUE(challenge);
  EXPECT_THAT(told(ask(early, proof_to(*challenge, hello_of(1, 2), test::secret_of(1)))),
              HasSubstr("not made with the secret of attempt 2"));
  const UniqueFd next = join(0, 2);
  EXPECT_EQ(told(ask(next, make_frame(Op::kCount, 2, {}))), "done 0");
  EXPECT_THAT(told(ask(rank, make_frame(Op::kCount, 1, {}))), "no 2") << "attempt 1 is over";
}

TEST_F(BoardStrangers, AreRanksThatAskOnBeforeTheyAreAnswered) {
  const UniqueFd rank = join(0);
  EXPECT_TRUE(say(rank, encode(make_frame(Op::kGet, 1, {"never"}))));
  for (int i = 0; i < 20; ++i) turn();  // read by itself; together the two are hung up on as well
  EXPECT_TRUE(say(rank, encode(make_frame(Op::kCount, 1, {}))));
  EXPECT_EQ(hear(rank), std::nullopt);
}

TEST_F(BoardStrangers, OfOneRankAreSoManyAtMost) {
  std::vector<UniqueFd> of_one;
  for (std::size_t i = 0; i < Connections::kConnectionsPerRankMax; ++i) of_one.push_back(join(5));
  const auto one_more = [&](const UniqueFd& fd) {
    const auto challenge = ask(fd, make_hello(hello_of(5)));
    return challenge ? told(ask(fd, proof_to(*challenge, hello_of(5), test::secret_of(1)))) : "hung up";
  };
  EXPECT_THAT(one_more(knock()), HasSubstr("rank 5 has 64 connections already"));
  const UniqueFd other = join(6);
  of_one.pop_back();
  turn_until_held(Connections::kConnectionsPerRankMax);
  EXPECT_EQ(one_more(knock()), "done");
}

TEST_F(BoardStrangers, OfOneRankMakeTheBoardStoreSoManyBytesAtMost) {
  constexpr std::size_t kPart = 12 << 20;
  const std::string unfinished =
      encode(make_frame(Op::kSet, 1, {"key", std::string(kPart, 'x')})).substr(0, kPart);
  const auto send_unfinished = [&](const UniqueFd& fd) {
    std::size_t sent = 0;
    turn_until([&] {
      if (is_hung_up(fd)) return true;
      const auto size =
          ::send(fd.get(), unfinished.data() + sent, unfinished.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (size > 0) sent += static_cast<std::size_t>(size);
      return sent == unfinished.size();
    });
  };
  std::vector<UniqueFd> of_one;
  for (int i = 0; i < 3; ++i) {
    of_one.push_back(join(5));
    send_unfinished(of_one.back());
  }
  const auto count_hung_up = [&] { return std::ranges::count_if(of_one, is_hung_up); };
  turn_until([&] { return count_hung_up() > 0; });
  EXPECT_EQ(count_hung_up(), 1) << "only the connection that exceeds the limit is closed";
  const UniqueFd other = join(6);
  EXPECT_EQ(told(ask(other, make_frame(Op::kSet, 1, {"key", "of 6"}))), "done");
}

}  // namespace
}  // namespace ratoon::board::connections_test
