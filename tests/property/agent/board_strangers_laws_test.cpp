// Strangers on the board: random clients without the attempt's secret, beside the ranks of the attempt. No
// stranger reads or changes a value, the ranks are answered as if they were alone, and the connections of
// strangers are few and short-lived. The board's connections run on simulated time and real sockets.
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "agent/src/board/connections.h"
#include "tests/property/operator/dice.h"
#include "tests/property/operator/environment.h"
#include "tests/support/board_fixture.h"
#include "tests/support/crash/effort.h"

namespace ratoon::board::board_strangers_laws_test {
namespace {

using namespace std::chrono_literals;

constexpr UnauthenticatedClientLimits kLimits{
    .connections_max = 8, .handshake_timeout = 10s, .eviction_grace = 100ms};
constexpr std::uint32_t kRanks = 3;

// A proof as a rank made it on a connection before, with its first message.
struct Heard {
  Hello hello;
  Frame proof;
};

class BoardStrangersLaws : public test::BoardPlace {
 protected:
  struct Stranger {
    UniqueFd fd;
    std::optional<Hello> hello{};  // that it said last
    std::string in{};
  };

  void live(std::uint64_t seed) {
    dice_ = std::make_unique<sim::Dice>(seed);
    clock_ = std::make_unique<ManualClock>(Timestamp{1000s});
    events_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
    connections_ = std::make_unique<Connections>(events_.get(), listening_.get(), *clock_, kLimits);
    epoll_event event{.events = EPOLLIN, .data = {.u64 = Connections::kListeningId}};
    ASSERT_EQ(::epoll_ctl(events_.get(), EPOLL_CTL_ADD, listening_.get(), &event), 0);
    begin_attempt();
    for (int move = 0; move < 80 && !HasFailure(); ++move) {
      act();
      expect_few();
    }
    clock_->advance(kLimits.handshake_timeout);
    serve();
    for (Stranger& stranger : strangers_) EXPECT_TRUE(is_hung_up_on(stranger)) << "a stranger stays";
    EXPECT_EQ(connections_->size(), ranks_.size());
    strangers_.clear();
    ranks_.clear();
    serve();
  }

  // The board learns at its next look which connections were closed here.
  void expect_few() {
    for (int tries = 0; tries < 1000 && connections_->size() > ranks_.size() + kLimits.connections_max;
         ++tries) {
      static_cast<void>(::poll(nullptr, 0, 1));
      serve();
    }
    EXPECT_LE(connections_->size(), ranks_.size() + kLimits.connections_max) << "strangers are many";
  }

  // All that the board has to do now.
  void serve() {
    for (int idle = 0; idle < 2;) {
      static_cast<void>(connections_->handle_timeouts());
      epoll_event ready[16];
      const int count = ::epoll_wait(events_.get(), ready, 16, 0);
      idle = count > 0 ? 0 : idle + 1;
      for (int i = 0; i < count; ++i) {
        if (ready[i].data.u64 == Connections::kListeningId)
          connections_->accept_all();
        else
          connections_->continue_io(ready[i].data.u64);
      }
    }
  }

  void begin_attempt() {
    ++attempt_;
    ranks_.clear();
    values_.clear();
    connections_->begin_attempt(opening());
    serve();
  }
  [[nodiscard]] ServedAttempt opening() const {
    return {.attempt = attempt_, .world_size = kRanks, .secret = test::secret_of(attempt_)};
  }

  void act() {
    clock_->advance(1ms * dice_->below(300));
    const std::uint64_t which = dice_->below(10);
    if (which < 3) return act_as_rank(static_cast<std::uint32_t>(dice_->below(kRanks)));
    if (which < 6) return come();
    if (which == 6 && dice_->percent(20)) return begin_attempt();
    if (!strangers_.empty()) say_anything(strangers_[dice_->below(strangers_.size())]);
  }

  // The answer of the board to a rank, which waits for it.
  std::optional<Frame> answer_to(const UniqueFd& fd) {
    std::string in;
    for (int tries = 0; tries < 1000; ++tries) {
      serve();
      char chunk[4096];
      const auto size = ::recv(fd.get(), chunk, sizeof chunk, MSG_DONTWAIT);
      if (size == 0) return std::nullopt;
      if (size > 0) in.append(chunk, static_cast<std::size_t>(size));
      if (const auto frame = decode(in); frame && *frame) return (*frame)->frame;
      if (size < 0 && errno != EAGAIN) return std::nullopt;
      // No place is free for a moment, or the kernel is slow.
      clock_->advance(kLimits.eviction_grace / 4);
      pollfd waits{.fd = fd.get(), .events = POLLIN, .revents = 0};
      static_cast<void>(::poll(&waits, 1, tries < 20 ? 0 : 1));
    }
    return std::nullopt;
  }

  void join(std::uint32_t rank) {
    Hello hello = hello_of(rank, attempt_);
    hello.nonce = std::to_string(100000 + ++nonces_) + std::string(2 * kNonceBytes - 6, 'a');
    UniqueFd fd = knock_from("127.0.0.1");
    ASSERT_TRUE(say(fd, encode(make_hello(hello))));
    const auto challenge = answer_to(fd);
    ASSERT_TRUE(challenge && challenge->kind == static_cast<std::uint8_t>(Status::kChallenge))
        << "a rank is not challenged beside " << strangers_.size() << " strangers";
    const Frame proof = proof_to(*challenge, hello, test::secret_of(attempt_));
    heard_.push_back({.hello = hello, .proof = proof});
    ASSERT_TRUE(say(fd, encode(proof)));
    EXPECT_EQ(answer_to(fd), make_frame(Status::kDone, attempt_, {}));
    ranks_[rank] = std::move(fd);
  }
  void act_as_rank(std::uint32_t rank) {
    if (!ranks_.contains(rank)) join(rank);
    if (HasFailure()) return;
    const auto ask = [&](Op op, std::vector<std::string> words) {
      EXPECT_TRUE(say(ranks_[rank], encode(make_frame(op, attempt_, std::move(words)))));
      const auto answer = answer_to(ranks_[rank]);
      EXPECT_TRUE(answer && answer->kind == static_cast<std::uint8_t>(Status::kDone)) << "a rank is refused";
      return answer ? answer->words : std::vector<std::string>{"nothing"};
    };
    // No rank changes a key of another.
    const std::string key = "key " + std::to_string(rank) + "-" + std::to_string(dice_->below(3));
    const std::string value = std::to_string(dice_->below(1000));
    switch (dice_->below(4)) {
      case 0:
        static_cast<void>(ask(Op::kSet, {key, value}));
        values_[key] = value;
        break;
      case 1:
        static_cast<void>(ask(Op::kMark, {value}));
        values_[rank_mark_key(rank)] = value;
        break;
      case 2:
        EXPECT_EQ(ask(Op::kErase, {key}).front(), values_.erase(key) == 1 ? "1" : "0");
        break;
      default:
        for (const auto& [known, expected] : values_)
          EXPECT_EQ(ask(Op::kGet, {known}), std::vector<std::string>{expected}) << known;
    }
    EXPECT_EQ(ask(Op::kCount, {}), std::vector<std::string>{std::to_string(values_.size())});
  }

  void come() {
    strangers_.push_back({.fd = knock_from("127.0.0.66")});
    serve();
    if (dice_->percent(70)) say_anything(strangers_.back());
  }

  // Anything but what a rank says that has the secret.
  [[nodiscard]] std::string draw_words(Stranger& stranger) {
    const std::uint64_t attempt = attempt_ + dice_->below(3) - 1;
    const auto challenge = decode(stranger.in);
    const bool is_challenged =
        stranger.hello && challenge && *challenge && (*challenge)->frame.words.size() == 2;
    switch (dice_->below(is_challenged ? 8 : 6)) {
      case 0: {  // no frame at all
        std::string bytes(dice_->below(700), '\0');
        for (char& byte : bytes) byte = static_cast<char>(dice_->below(256));
        return bytes;
      }
      case 1:  // a request without a proof
        return encode(make_frame(dice_->pick({Op::kSet, Op::kAppend, Op::kAdd}), attempt, {"key 0-1", "7"}));
      case 2:
        return encode(make_frame(dice_->pick({Op::kMark, Op::kErase, Op::kGet}), attempt, {"key 0-1"}));
      case 3:
        return say_hello(stranger, hello_of(static_cast<std::uint32_t>(dice_->below(kRanks + 2)), attempt));
      case 4:
      case 5:  // all that a rank said on its connection
        if (heard_.empty()) return "";
        if (is_challenged) return encode(heard_[dice_->below(heard_.size())].proof);
        return say_hello(stranger, heard_.back().hello);
      case 6:  // the board's own proof
        return encode(make_frame(Op::kProve, stranger.hello->attempt, {(*challenge)->frame.words[1]}));
      default:  // a proof with another secret
        return encode(proof_to((*challenge)->frame, *stranger.hello, test::secret_of(attempt_ + 1)));
    }
  }
  static std::string say_hello(Stranger& stranger, const Hello& hello) {
    stranger.hello = hello;
    return encode(make_hello(hello));
  }
  void say_anything(Stranger& stranger) {
    std::string words = draw_words(stranger);
    if (dice_->percent(15)) words.resize(words.size() / 2);
    static_cast<void>(::send(stranger.fd.get(), words.data(), words.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    serve();
    hear(stranger);
  }
  // Whether the connection is closed.
  bool hear(Stranger& stranger) {
    for (;;) {
      char chunk[4096];
      const auto size = ::recv(stranger.fd.get(), chunk, sizeof chunk, MSG_DONTWAIT);
      if (size < 0 && errno == EAGAIN) return false;
      if (size <= 0) return true;
      stranger.in.assign(chunk, static_cast<std::size_t>(size));
      const auto frame = decode(stranger.in);
      if (!frame || !*frame) continue;
      EXPECT_NE((*frame)->frame.kind, static_cast<std::uint8_t>(Status::kDone)) << "a stranger was let in";
    }
  }
  bool is_hung_up_on(Stranger& stranger) {
    for (int tries = 0; tries < 1000; ++tries) {
      if (hear(stranger)) return true;
      pollfd waits{.fd = stranger.fd.get(), .events = POLLIN, .revents = 0};
      static_cast<void>(::poll(&waits, 1, 1));
      serve();
    }
    return false;
  }

  std::unique_ptr<sim::Dice> dice_;
  std::unique_ptr<ManualClock> clock_;
  UniqueFd events_;
  std::unique_ptr<Connections> connections_;
  std::uint64_t attempt_ = 0;
  std::uint64_t nonces_ = 0;
  std::map<std::uint32_t, UniqueFd> ranks_;
  std::map<std::string, std::string> values_;
  std::vector<Stranger> strangers_;
  std::vector<Heard> heard_;
};

TEST_F(BoardStrangersLaws, HoldForAnyStrangers) {
  ASSERT_EQ(::fcntl(listening_.get(), F_SETFL, O_NONBLOCK), 0);
  const sim::Seeds all = sim::seeds_of_this_run(ratoon::test::afforded(200), "board_strangers_laws_test");
  for (const std::uint64_t seed : all) {
    SCOPED_TRACE(all.replay(seed));
    attempt_ = 0;
    heard_.clear();
    live(seed);
    if (HasFailure()) return;
  }
  std::cout << all.count() << " boards\n";
}

}  // namespace
}  // namespace ratoon::board::board_strangers_laws_test
