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

Result<ShardBytes> OpenShards::find_or_open(std::size_t shard,
                                            const std::function<Result<ShardBytes>()>& open) {
  Result<ShardBytes> opened{ShardBytes()};
  {
    const std::lock_guard lock(lock_of(shard));
    if (auto found = find(shard)) return std::move(*found);
    opened = open();
    if (!opened) return opened;
    Slot& slot = slots_[shard];
    slot.bytes = *opened;
    slot.word.fetch_or(kOpen, std::memory_order_release);
  }
  note(shard, opened->memory_bytes);
  return opened;
}

std::size_t OpenShards::count() const {
  const std::lock_guard lock(mutex_);
  return ring_.size();
}

bool OpenShards::try_close(std::size_t shard) {
  // Whoever opens another shard under the same lock may take long: this one stays open instead.
  const std::unique_lock lock(lock_of(shard), std::try_to_lock);
  if (!lock.owns_lock()) return false;
  Slot& slot = slots_[shard];
  std::uint32_t idle = kOpen;
  if (!slot.word.compare_exchange_strong(idle, 0, std::memory_order_acq_rel)) return false;
  memory_bytes_ -= slot.bytes.memory_bytes;
  slot.bytes = ShardBytes();
  return true;
}

// Adds a shard that was just opened, and gives up others until the limits are kept or nobody can go.
void OpenShards::note(std::size_t shard, std::uint64_t memory_bytes) {
  const std::lock_guard lock(mutex_);
  memory_bytes_ += memory_bytes;
  const auto is_over = [&] {
    return ring_.size() >= limits_.count_max || memory_bytes_ > limits_.memory_bytes_max;
  };
  for (std::size_t tries = 2 * ring_.size(); tries > 0 && !ring_.empty() && is_over(); --tries) {
    hand_ = hand_ < ring_.size() ? hand_ : 0;
    const std::size_t candidate = ring_[hand_];
    if (!slots_[candidate].is_recent.exchange(false, std::memory_order_relaxed) && try_close(candidate))
      ring_.erase(ring_.begin() + static_cast<std::ptrdiff_t>(hand_));
    else
      ++hand_;
  }
  // Just behind the hand, which comes by again when it has seen all others.
  ring_.insert(ring_.begin() + static_cast<std::ptrdiff_t>(hand_), shard);
  ++hand_;
}

}  // namespace ratoon::mds
