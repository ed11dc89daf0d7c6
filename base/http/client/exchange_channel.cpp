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
  const MutexLock lock(mutex_);
  head_ = std::move(event);
  wakeup_.notify();
}

void ExchangeChannel::post(BytesArrived event) {
  const MutexLock lock(mutex_);
  bytes_ = std::move(event);
  wakeup_.notify();
}

void ExchangeChannel::post(BytesWanted event) {
  const MutexLock lock(mutex_);
  bytes_wanted_ = std::move(event);
  wakeup_.notify();
}

void ExchangeChannel::post(ExchangeEnded event) {
  const MutexLock lock(mutex_);
  pending_end_ = std::move(event);
  wakeup_.notify();
}

void ExchangeChannel::post(ExchangeReleased) {
  const MutexLock lock(mutex_);
  is_released_ = true;
  wakeup_.notify();
}

ChannelEvent ExchangeChannel::take(bool is_draining) {
  const MutexLock lock(mutex_);
  if (head_) {
    has_delivered_head_ = true;
    return take_pending_event(head_);
  }
  if (bytes_wanted_) return take_pending_event(bytes_wanted_);
  if (bytes_ && (has_delivered_head_ || is_draining)) return take_pending_event(bytes_);
  if (pending_end_ && !bytes_) return take_pending_event(pending_end_);
  if (is_released_ && !bytes_) return ExchangeReleased{};
  return std::monostate{};
}

bool ExchangeChannel::has_event() const {
  const MutexLock lock(mutex_);
  return head_ || bytes_ || bytes_wanted_ || pending_end_ || is_released_;
}

}  // namespace ratoon::http
