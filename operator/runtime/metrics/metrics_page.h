// MetricsPage answers GET /metrics, but only for a few clients at once, because each slow client blocks a
// thread of the server. The server's reply_deadline disconnects clients that never finish. One address can
// use at most half of the slots for clients, so slow clients in one pod do not keep Prometheus from
// reading.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/core/threads/mutex.h"
#include "base/http/server.h"

namespace ratoon::runtime {

class MetricsPage {
 public:
  // Sends a piece of the page; returns false if the client has disconnected.
  using Sink = std::function<bool(std::string_view)>;
  static constexpr int kReadersMax = 4;
  static constexpr int kReadersPerAddressMax = 2;

  // `write` writes the whole page to a sink; several threads may call `write` at the same time.
  explicit MetricsPage(std::function<void(const Sink&)> write) : write_(std::move(write)) {}

  // Answers one request. `peer`: the client's address and port.
  void show(const std::string& peer, http::Responder responder);

 private:
  class ReaderSlot;

  const std::function<void(const Sink&)> write_;
  Mutex mutex_;
  std::multiset<std::string> readers_ RATOON_GUARDED_BY(mutex_);  // their addresses
};

}  // namespace ratoon::runtime
