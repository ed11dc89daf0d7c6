#include "agent/src/mds/open_shards.h"

namespace ratoon::mds {

std::optional<ShardBytes> OpenShards::find(std::size_t shard) {
  Slot& slot = slots_[shard];
  const std::uint32_t before = slot.word.fetch_add(1, std::memory_order_acquire);
  std::optional<ShardBytes> found;
  if ((before & kOpen) != 0) {
    found = slot.bytes;
    if (!slot.is_recent.load(std::memory_order_relaxed))
      slot.is_recent.store(true, std::memory_order_relaxed);
  }
  slot.word.fetch_sub(1, std::memory_order_release);
  return found;
}

Result<ShardBytes> OpenShards::find_or_open(std::size_t shard, std::uint64_t held_bytes,
                                            const std::function<Result<ShardBytes>()>& open,
                                            const std::stop_token& stop) {
  Slot& slot = slots_[shard];
  {
    std::unique_lock lock(mutex_);
    if (!opened_.wait(lock, stop, [&] { return !slot.is_opening; }))
      return Error(ErrorKind::kCancelled, "waiting for a shard was cancelled");
    if (auto found = find(shard)) return std::move(*found);
    slot.is_opening = true;
    held_bytes_ += held_bytes;
    if (held_bytes > 0) make_room();
  }
  Result<ShardBytes> opened = Error(ErrorKind::kCancelled, "opening a shard was cancelled");
  try {
    opened = open();
  } catch (...) {  // memory may be out; whoever waits must not wait for ever
    end_opening(slot, held_bytes);
    throw;
  }
  if (opened) {
    const std::lock_guard lock(mutex_);
    keep(shard, *opened);
  }
  end_opening(slot, held_bytes);
  return opened;
}

void OpenShards::end_opening(Slot& slot, std::uint64_t held_bytes) {
  {
    const std::lock_guard lock(mutex_);
    slot.is_opening = false;
    held_bytes_ -= held_bytes;
  }
  opened_.notify_all();
}

void OpenShards::keep(std::size_t shard, const ShardBytes& bytes) {
  memory_bytes_ += bytes.memory_bytes;
  held_bytes_ += bytes.held_bytes;
  make_room();
  slots_[shard].bytes = bytes;
  slots_[shard].word.fetch_or(kOpen, std::memory_order_release);
  // Just behind the hand, which comes by again when it has seen all others.
  ring_.insert(ring_.begin() + static_cast<std::ptrdiff_t>(hand_), shard);
  ++hand_;
}

bool OpenShards::is_over() const {
  return ring_.size() >= limits_.count_max || memory_bytes_ > limits_.memory_bytes_max ||
         held_bytes_ > limits_.held_bytes_max;
}

// Gives up shards until one more is within the limits, or none can go.
void OpenShards::make_room() {
  for (std::size_t tries = 2 * ring_.size(); tries > 0 && !ring_.empty() && is_over(); --tries) {
    hand_ = hand_ < ring_.size() ? hand_ : 0;
    const std::size_t candidate = ring_[hand_];
    if (!slots_[candidate].is_recent.exchange(false, std::memory_order_relaxed) && try_close(candidate))
      ring_.erase(ring_.begin() + static_cast<std::ptrdiff_t>(hand_));
    else
      ++hand_;
  }
}

bool OpenShards::try_close(std::size_t shard) {
  Slot& slot = slots_[shard];
  std::uint32_t idle = kOpen;
  if (!slot.word.compare_exchange_strong(idle, 0, std::memory_order_acq_rel)) return false;
  memory_bytes_ -= slot.bytes.memory_bytes;
  held_bytes_ -= slot.bytes.held_bytes;
  slot.bytes = ShardBytes();
  return true;
}

bool OpenShards::is_coming(std::size_t shard) const {
  const std::lock_guard lock(mutex_);
  return slots_[shard].is_opening || (slots_[shard].word.load(std::memory_order_relaxed) & kOpen) != 0;
}

std::size_t OpenShards::count() const {
  const std::lock_guard lock(mutex_);
  return ring_.size();
}

}  // namespace ratoon::mds
