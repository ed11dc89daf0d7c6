// The unsent part of one HTTP reply. Any thread may add to the buffer; the connection sends from it.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>

#include "base/core/clock.h"
#include "base/core/threads/condition_variable.h"

namespace ratoon::http {

class ReplyBuffer {
 public:
  // Adds a piece; the last piece completes the reply.
  void put(std::string piece, bool is_last);

  // Waits until fewer than kUnsentBytesMax bytes are unsent, then adds the piece. Returns false if the
  // connection has ended.
  [[nodiscard]] bool put_when_space(std::string piece);

  // Returns the next piece for the connection to write. A piece counts as unsent until the connection asks
  // for the piece after it.
  [[nodiscard]] std::optional<std::string> next();
  [[nodiscard]] bool is_sent() const;

  // Wakes all waiting threads; pieces that are added from now on are not sent.
  void close();

  // Records that the client has closed its connection, or the sending half of its connection.
  void mark_abandoned() { is_abandoned_ = true; }
  [[nodiscard]] bool is_abandoned() const { return is_abandoned_; }

  static constexpr std::size_t kUnsentBytesMax = 256 * 1024;

 private:
  std::atomic<bool> is_abandoned_{false};
  mutable Mutex mutex_;
  ConditionVariable space_available_;
  std::deque<std::string> pieces_ RATOON_GUARDED_BY(mutex_);
  std::size_t unsent_bytes_ RATOON_GUARDED_BY(mutex_) = 0;
  std::size_t in_flight_bytes_ RATOON_GUARDED_BY(mutex_) = 0;
  bool is_complete_ RATOON_GUARDED_BY(mutex_) = false;
  bool is_closed_ RATOON_GUARDED_BY(mutex_) = false;
};

}  // namespace ratoon::http
