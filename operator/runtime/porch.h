// Porch keeps messages whose bearer is not known yet away from those whose bearer is: who is known is
// answered at once by the thread that read the message, and strangers wait in a line that has threads of its
// own, since the API server is asked about each of them. Addresses take turns in that line, so that a caller
// that shows bad tokens by the thousand holds up strangers at its own address alone.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/core/clock.h"
#include "base/http/server.h"

namespace ratoon::runtime {

// Connections of strangers that the door keeps at once: over TLS so many take 126 MiB at most, half of the
// memory that the chart gives the operator. Members that find no room call again.
inline constexpr std::size_t kStrangersMax = 1024;

struct PorchOptions {
  std::function<bool(const http::ServerRequest&)> is_known;  // does not wait
  http::Handler answer;
  int threads = 4;  // so many strangers are asked about at once
  std::size_t bytes_max = std::size_t{8} << 20;
  Duration wait_max{std::chrono::seconds(5)};  // then who stands in the line is to call again
  // Called when an address has waited so long for its turn that its silence says nothing.
  std::function<void()> on_late = [] {};
};

class Porch {
 public:
  // The clock outlives it.
  Porch(const Clock& clock, PorchOptions options);
  // Waits for answers that are being found; who stands in the line gets none.
  ~Porch();
  Porch(const Porch&) = delete;
  Porch& operator=(const Porch&) = delete;

  // Safe to call from several threads.
  void receive(http::ServerRequest request, http::Responder responder);

 private:
  struct Stranger {
    http::ServerRequest request;
    http::Responder responder;
    std::size_t bytes;
    Timestamp until;
  };
  // Those of one address.
  struct Line {
    std::deque<Stranger> strangers;
    std::size_t bytes = 0;
    Timestamp turn_since;  // when it came to stand in the line of addresses
  };

  void serve(const std::stop_token& stop);
  [[nodiscard]] bool has_room(const std::string& address, std::size_t bytes) const;  // mutex_ is held
  [[nodiscard]] Stranger take_first();                                               // the same

  const Clock& clock_;
  const PorchOptions options_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::map<std::string, Line> lines_;  // by address; guarded by mutex_
  std::deque<std::string> turns_;      // of the addresses; guarded by mutex_
  std::size_t bytes_ = 0;              // of all lines; guarded by mutex_
  std::vector<std::jthread> threads_;  // last: they use everything above
};

}  // namespace ratoon::runtime
