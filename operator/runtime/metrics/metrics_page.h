// MetricsPage answers GET /metrics, for a few readers at once: the text is written as fast as its reader
// takes it, and each slow reader blocks a thread of a server that must answer /healthz as well. The server's
// reply_deadline cuts off readers that never finish. One address gets half of the places at most, so slow
// readers of one pod keep no scraper out.
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/http/server.h"

namespace ratoon::runtime {

class MetricsPage {
 public:
  // Returns false if the reader has disconnected.
  using Sink = std::function<bool(std::string_view)>;
  static constexpr int kReadersMax = 4;
  static constexpr int kReadersOfAnAddressMax = 2;

  // `write` writes the whole text; several threads may call it at once.
  explicit MetricsPage(std::function<void(const Sink&)> write) : write_(std::move(write)) {}

  // `peer`: the reader's address and port, as in a request.
  void show(const std::string& peer, http::Responder responder);

 private:
  class Place;

  const std::function<void(const Sink&)> write_;
  std::mutex mutex_;
  std::multiset<std::string> readers_;  // their addresses; guarded by mutex_
};

}  // namespace ratoon::runtime
