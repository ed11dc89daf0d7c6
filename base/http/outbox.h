// What one reply still has to send. Filled from any thread, emptied by the connection.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "base/core/clock.h"

namespace ratoon::http {

class Outbox {
 public:
  // Adds a piece; the last one completes the reply.
  void put(std::string piece, bool is_last);

  // Adds a piece once less than kUnsentBytesMax waits before it; false when the connection has ended.
  [[nodiscard]] bool put_when_room(std::string piece);

  // For the connection: the next piece to write, which stays counted as unsent until the one after it is
  // asked for.
  [[nodiscard]] std::optional<std::string> next();
  [[nodiscard]] bool is_sent() const;

  // Ends all waiting; nothing put from now on is sent.
  void close();

  // The other side has closed its connection, or its half of it.
  void mark_abandoned() { is_abandoned_ = true; }
  [[nodiscard]] bool is_abandoned() const { return is_abandoned_; }

  static constexpr std::size_t kUnsentBytesMax = 256 * 1024;

 private:
  std::atomic<bool> is_abandoned_{false};
  mutable std::mutex mutex_;
  std::condition_variable has_room_;
  std::deque<std::string> pieces_;  // all guarded by mutex_
  std::size_t unsent_bytes_ = 0;
  std::size_t in_flight_bytes_ = 0;
  bool is_complete_ = false;
  bool is_closed_ = false;
};

}  // namespace ratoon::http
