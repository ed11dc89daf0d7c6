// Passes the events of one exchange from cpprestsdk's threads to the thread of the call, one at a time. Bytes
// are lent, not copied: the library reads no further until they are given back, so a slow reader slows down
// the sender.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/http/transport.h"
#include "base/http/wakeup.h"

namespace ratoon::http {

struct HeadArrived {
  ResponseHead head;
  bool is_http_1 = true;
};
struct BytesArrived {
  std::string_view bytes;
  std::function<void()> give_back;
};
struct BytesWanted {
  std::span<char> into;
  std::function<void(std::size_t)> give;  // 0: no bytes
};
struct Ended {
  bool is_whole = true;
  bool is_our_fault = false;  // the request cannot be sent as it is
  std::string problem{};      // the library's message
  int code = 0;               // errno, or OpenSSL's packed code
};
struct Released {};  // the library has released the exchange: nothing of it runs any longer

using ChannelEvent = std::variant<std::monostate, HeadArrived, BytesArrived, BytesWanted, Ended, Released>;

class ExchangeChannel {
 public:
  [[nodiscard]] const Wakeup& wakeup() const { return wakeup_; }

  // The function is called by the library's threads.
  void post(HeadArrived event);
  void post(BytesArrived event);
  void post(BytesWanted event);
  void post(Ended event);
  void post(Released event);

  // The function is called by the thread of the call. Returns no part of a body before the head, unless the
  // call only drains.
  [[nodiscard]] ChannelEvent take(bool is_draining);
  [[nodiscard]] bool has_event() const;

 private:
  Wakeup wakeup_;
  mutable std::mutex mutex_;
  // All guarded by mutex_. One slot of each kind is enough: the library never has two pieces under way in one
  // direction.
  std::optional<HeadArrived> head_;
  std::optional<BytesArrived> bytes_;
  std::optional<BytesWanted> wanted_;
  std::optional<Ended> ended_;
  bool is_released_ = false;
  bool has_given_head_ = false;
};

}  // namespace ratoon::http
