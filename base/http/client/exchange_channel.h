// Passes the events of one HTTP call from cpprestsdk's threads to the calling thread, one at a time. The
// channel lends received bytes to the calling thread without copying them. The library reads further bytes
// only when the calling thread has returned the lent bytes, so a slow reader slows down the sender.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/core/threads/mutex.h"
#include "base/http/transport.h"
#include "base/http/wakeup.h"

namespace ratoon::http {

struct HeadArrived {
  ResponseHead head;
  bool is_http_1 = true;
};
struct BytesArrived {
  std::string_view bytes;
  std::function<void()> release_bytes;
};
struct BytesWanted {
  std::span<char> into;
  std::function<void(std::size_t)> give;  // 0: no bytes
};
struct ExchangeEnded {
  bool is_whole = true;
  bool is_request_invalid = false;  // the request cannot be sent as it is
  std::string problem{};            // the library's message
  int code = 0;                     // errno, or OpenSSL's packed code
};
struct ExchangeReleased {};  // the library has released the exchange: nothing of it runs any longer

using ChannelEvent =
    std::variant<std::monostate, HeadArrived, BytesArrived, BytesWanted, ExchangeEnded, ExchangeReleased>;

class ExchangeChannel {
 public:
  [[nodiscard]] const Wakeup& wakeup() const { return wakeup_; }

  // The library's threads call post().
  void post(HeadArrived event);
  void post(BytesArrived event);
  void post(BytesWanted event);
  void post(ExchangeEnded event);
  void post(ExchangeReleased event);

  // The thread that makes the call calls take(). take() returns the reply's head before any part of its body,
  // unless `is_draining` (the call has failed).
  [[nodiscard]] ChannelEvent take(bool is_draining);
  [[nodiscard]] bool has_event() const;

 private:
  Wakeup wakeup_;
  mutable Mutex mutex_;
  // One slot for each kind of event is enough, because in each direction the library passes on only one piece
  // of a body at a time.
  std::optional<HeadArrived> head_ RATOON_GUARDED_BY(mutex_);
  std::optional<BytesArrived> bytes_ RATOON_GUARDED_BY(mutex_);
  std::optional<BytesWanted> bytes_wanted_ RATOON_GUARDED_BY(mutex_);
  std::optional<ExchangeEnded> pending_end_ RATOON_GUARDED_BY(mutex_);
  bool is_released_ RATOON_GUARDED_BY(mutex_) = false;
  bool has_delivered_head_ RATOON_GUARDED_BY(mutex_) = false;
};

}  // namespace ratoon::http
