#include "base/http/client/exchange_channel.h"

#include <utility>

namespace ratoon::http {
namespace {

template <class T>
T take_pending_event(std::optional<T>& slot) {
  T event = std::move(*slot);
  slot.reset();
  return event;
}

}  // namespace

void ExchangeChannel::post(HeadArrived event) {
  const std::lock_guard lock(mutex_);
  head_ = std::move(event);
  wakeup_.notify();
}

void ExchangeChannel::post(BytesArrived event) {
  const std::lock_guard lock(mutex_);
  bytes_ = std::move(event);
  wakeup_.notify();
}

void ExchangeChannel::post(BytesWanted event) {
  const std::lock_guard lock(mutex_);
  wanted_ = std::move(event);
  wakeup_.notify();
}

void ExchangeChannel::post(ExchangeEnded event) {
  const std::lock_guard lock(mutex_);
  ended_ = std::move(event);
  wakeup_.notify();
}

void ExchangeChannel::post(ExchangeReleased) {
  const std::lock_guard lock(mutex_);
  is_released_ = true;
  wakeup_.notify();
}

ChannelEvent ExchangeChannel::take(bool is_draining) {
  const std::lock_guard lock(mutex_);
  if (head_) {
    has_delivered_head_ = true;
    return take_pending_event(head_);
  }
  if (wanted_) return take_pending_event(wanted_);
  if (bytes_ && (has_delivered_head_ || is_draining)) return take_pending_event(bytes_);
  if (ended_ && !bytes_) return take_pending_event(ended_);
  if (is_released_ && !bytes_) return ExchangeReleased{};
  return std::monostate{};
}

bool ExchangeChannel::has_event() const {
  const std::lock_guard lock(mutex_);
  return head_ || bytes_ || wanted_ || ended_ || is_released_;
}

}  // namespace ratoon::http
