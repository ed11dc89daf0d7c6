#include "base/http/server/reply_buffer.h"

#include <utility>

namespace ratoon::http {

void ReplyBuffer::put(std::string piece, bool is_last) {
  const MutexLock lock(mutex_);
  if (is_closed_ || is_complete_) return;
  is_complete_ = is_last;
  if (piece.empty()) return;
  unsent_bytes_ += piece.size();
  pieces_.push_back(std::move(piece));
}

bool ReplyBuffer::put_when_space(std::string piece) {
  MutexLock lock(mutex_);
  space_available_.wait(
      lock, [this]() RATOON_REQUIRES(mutex_) { return is_closed_ || unsent_bytes_ < kUnsentBytesMax; });
  if (is_closed_ || is_complete_) return false;
  unsent_bytes_ += piece.size();
  pieces_.push_back(std::move(piece));
  return true;
}

std::optional<std::string> ReplyBuffer::next() {
  const MutexLock lock(mutex_);
  unsent_bytes_ -= std::exchange(in_flight_bytes_, 0);
  if (unsent_bytes_ < kUnsentBytesMax) space_available_.notify_all();
  if (pieces_.empty()) return std::nullopt;
  std::string piece = std::move(pieces_.front());
  pieces_.pop_front();
  in_flight_bytes_ = piece.size();
  return piece;
}

bool ReplyBuffer::is_sent() const {
  const MutexLock lock(mutex_);
  return is_complete_ && pieces_.empty() && in_flight_bytes_ == 0;
}

void ReplyBuffer::close() {
  const MutexLock lock(mutex_);
  is_closed_ = true;
  is_abandoned_ = true;
  space_available_.notify_all();
}

}  // namespace ratoon::http
