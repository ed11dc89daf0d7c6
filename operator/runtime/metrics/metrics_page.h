// MetricsPage answers GET /metrics, for a few readers at once: the text is written as fast as its reader
// takes it, and each slow reader blocks a thread of a server that must answer /healthz as well. The server's
// reply_deadline cuts off readers that never finish.
#pragma once

#include <functional>
#include <semaphore>
#include <string_view>
#include <utility>

#include "base/http/server.h"

namespace ratoon::runtime {

class MetricsPage {
 public:
  // Returns false if the reader has disconnected.
  using Sink = std::function<bool(std::string_view)>;
  static constexpr int kReadersMax = 4;

  // `write` writes the whole text; several threads may call it at once.
  explicit MetricsPage(std::function<void(const Sink&)> write) : write_(std::move(write)) {}

  void show(http::Responder responder);

 private:
  const std::function<void(const Sink&)> write_;
  std::counting_semaphore<kReadersMax> free_{kReadersMax};
};

}  // namespace ratoon::runtime
