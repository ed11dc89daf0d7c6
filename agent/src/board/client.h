// Client: a rank's connection to the board, the key-value store that rank 0 serves to all ranks of an
// attempt. Before the first request, the client and the server prove to each other that they have the
// attempt's secret. Every call returns at the latest at its deadline, or soon after the attempt was
// abandoned. Only one thread at a time may use a Client.
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
    // The function `tell` receives a message when a call of send_request() has waited for the time
    // `report_wait_after`, and then every minute. The message names the ranks that are not connected yet. If
    // the function `tell` is empty, the client logs the message.
    std::function<void(const std::string& sentence)> tell{};
    std::chrono::milliseconds report_wait_after = std::chrono::seconds(10);
    // send_request() calls the function `look` every 20 ms while it waits for an answer. If the function
    // `look` throws, the client must not be used again.
    std::function<void()> look{};
  };

  // The client connects in the first call of send_request().
  explicit Client(Plan plan) : settings_(std::move(plan)) {}

  [[nodiscard]] const Plan& plan() const { return settings_; }
  // Whether the client has a connection on which it has proved that it has the attempt's secret.
  [[nodiscard]] bool is_connected() const { return fd_.is_open() && connect_error_.empty(); }

  // Sends a request to the board and returns the words (values) of the answer. Errors: kCancelled if the
  // attempt was abandoned; kTimeout if the deadline passed; kConflict if a newer attempt has begun; kInvalid
  // if the board refuses the request; kUnavailable if rank 0 closed the connection; kCorrupted if another
  // program answers. After a timeout, the board may or may not have executed the request.
  [[nodiscard]] Result<std::vector<std::string>> send_request(Op op, std::vector<std::string> words,
                                                              Deadline deadline);

 private:
  [[nodiscard]] Result<void> connect(Deadline deadline);
  // Runs the handshake on a new connection, in which client and server prove that they have the attempt's
  // secret.
  [[nodiscard]] Result<void> authenticate(Deadline deadline);
  [[nodiscard]] Result<UniqueFd> try_to_connect(const SocketAddress& address, Deadline deadline);
  // Sends one request and returns the board's answer, or an error if the board refuses the request.
  [[nodiscard]] Result<Frame> send_request_frame(const Frame& request, Deadline deadline);
  [[nodiscard]] Result<Frame> exchange_frames(const Frame& request, Deadline deadline);
  // Waits until `fd` is ready for one of `events`. If `fd` is -1, pauses for 20 ms.
  [[nodiscard]] Result<void> wait_for(int fd, short events, Deadline deadline);
  void report_long_wait();
  [[nodiscard]] std::string describe_server() const;

  const Plan settings_;
  UniqueFd fd_;
  Deadline next_report_at_{};    // of the current send_request()
  Deadline request_began_at_{};  // when the current send_request() began
  std::string connect_error_;    // why the last attempt to connect failed; empty: there is a connection
};

}  // namespace ratoon::board
