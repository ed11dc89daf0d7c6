// Client: a rank's line to the board of its attempt. Both sides prove that they have the attempt's secret
// before anything is asked. Every call ends when its deadline has passed or soon after the attempt was given
// up. For one thread at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/board/frame.h"
#include "agent/src/board/ip_address.h"
#include "base/core/unique_fd.h"

namespace ratoon::board {

class Client {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  static constexpr Deadline kNoDeadline = Deadline::max();

  struct Plan {
    std::string host;  // a numeric address
    std::uint16_t port = 0;
    std::uint64_t attempt = 0;
    std::uint32_t rank = 0;
    std::string secret;  // of the attempt
    std::shared_ptr<const std::atomic<bool>> is_given_up;
    // Once an ask() waits for so long, and every minute from then on: for whom it waits. Empty: it is logged.
    std::function<void(const std::string& sentence)> tell{};
    std::chrono::milliseconds tell_after = std::chrono::seconds(10);
  };

  // Connects with the first call of ask().
  explicit Client(Plan plan) : plan_(std::move(plan)) {}

  [[nodiscard]] const Plan& plan() const { return plan_; }

  // The words of the answer. kCancelled: given up; kTimeout: the deadline passed; kConflict: a newer attempt
  // has begun; kInvalid: the board refused; kUnavailable: rank 0 hung up; kCorrupted: no board is there, or
  // one that does not have the secret.
  // Whether an op that timed out had its effect is not known.
  [[nodiscard]] Result<std::vector<std::string>> ask(Op op, std::vector<std::string> words,
                                                     Deadline deadline);

 private:
  [[nodiscard]] Result<void> connect(Deadline deadline);
  // On a connection that was made just now.
  [[nodiscard]] Result<void> prove(Deadline deadline);
  [[nodiscard]] Result<UniqueFd> try_to_connect(const SocketAddress& address, Deadline deadline);
  // What the board says, unless that is an error.
  [[nodiscard]] Result<Frame> ask_frame(const Frame& request, Deadline deadline);
  [[nodiscard]] Result<Frame> exchange(const Frame& request, Deadline deadline);
  // Until `fd` has one of `events`, or -1: for one look.
  [[nodiscard]] Result<void> wait_for(int fd, short events, Deadline deadline);
  void tell_of_wait();
  [[nodiscard]] std::string place() const;

  const Plan plan_;
  UniqueFd fd_;
  Deadline tell_at_{};  // of the ask() under way
  Deadline asked_{};    // when it began
  std::string no_way_;  // why the last try to connect failed; empty: there is a connection
};

}  // namespace ratoon::board
