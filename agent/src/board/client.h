// Client: a rank's connection to the board (rank 0's store) of its attempt. Both sides prove to each other,
// before the first request, that they have the attempt's secret. Every call ends when its deadline has
// passed, or soon after the attempt was abandoned. Only one thread at a time may use a Client.
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
    // Receives a message when an ask() has waited for `tell_after`, and then every minute. The message says
    // for which ranks this rank waits. If `tell` is empty, the message is logged.
    std::function<void(const std::string& sentence)> tell{};
    std::chrono::milliseconds tell_after = std::chrono::seconds(10);
    // Called every 20 ms by a thread that waits in ask(). If the function throws, the client is not used any
    // more.
    std::function<void()> look{};
  };

  // The client connects in the first call of ask().
  explicit Client(Plan plan) : plan_(std::move(plan)) {}

  [[nodiscard]] const Plan& plan() const { return plan_; }

  // Returns the words of the answer. Errors: kCancelled: the attempt was abandoned; kTimeout: the deadline
  // passed; kConflict: a newer attempt has begun; kInvalid: the board refused; kUnavailable: rank 0 closed
  // the connection; kCorrupted: the peer is no board, or does not have the secret. After a timeout it is
  // unknown whether the board carried out the op.
  [[nodiscard]] Result<std::vector<std::string>> ask(Op op, std::vector<std::string> words,
                                                     Deadline deadline);

 private:
  [[nodiscard]] Result<void> connect(Deadline deadline);
  // Makes the handshake on a new connection.
  [[nodiscard]] Result<void> prove(Deadline deadline);
  [[nodiscard]] Result<UniqueFd> try_to_connect(const SocketAddress& address, Deadline deadline);
  // Returns the board's answer, or its error.
  [[nodiscard]] Result<Frame> ask_frame(const Frame& request, Deadline deadline);
  [[nodiscard]] Result<Frame> exchange(const Frame& request, Deadline deadline);
  // Waits until `fd` is ready for one of `events`. If `fd` is -1, pauses once.
  [[nodiscard]] Result<void> wait_for(int fd, short events, Deadline deadline);
  void tell_of_wait();
  [[nodiscard]] std::string place() const;

  const Plan plan_;
  UniqueFd fd_;
  Deadline tell_at_{};         // of the current ask()
  Deadline asked_{};           // when the current ask() began
  std::string connect_error_;  // why the last attempt to connect failed; empty: there is a connection
};

}  // namespace ratoon::board
