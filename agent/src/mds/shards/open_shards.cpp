#include "agent/src/mds/shards/open_shards.h"

#include <algorithm>
#include <functional>

#include "agent/src/mds/upcoming_shards.h"

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
  while (true) {
    std::unique_lock lock(mutex_);
    if (auto found = find(shard)) return std::move(*found);
    const auto at = openings_.find(shard);
    if (at == openings_.end()) {
      openings_.emplace(shard, std::make_shared<Opening>(held_bytes));
      held_bytes_ += held_bytes;
      lock.unlock();
      return open_one(shard, held_bytes > 0, open);
    }
    const std::shared_ptr<const Opening> opening = at->second;
    if (!opened_.wait(lock, stop, [&] { return opening->is_over; }))
      return Error(ErrorKind::kCancelled, "waiting for a shard was cancelled");
    // If the thread that was opening the shard was stopped, this thread opens the shard instead.
    if (opening->error && opening->error->kind() != ErrorKind::kCancelled) return *opening->error;
  }
}

// Every call that may throw is inside of this block, so that a failure always wakes waiting threads and
// releases the reserved memory.
Result<ShardBytes> OpenShards::open_one(std::size_t shard, bool needs_room,
                                        const std::function<Result<ShardBytes>()>& open) {
  try {
    if (needs_room) {
      const std::lock_guard lock(mutex_);
      make_room();
    }
    auto opened = open();
    if (opened) {
      const std::lock_guard lock(mutex_);
      keep(shard, *opened);
    }
    end_opening(shard, opened ? std::nullopt : std::optional(opened.error()));
    return opened;
  } catch (...) {
    end_opening(shard, std::nullopt);  // memory may be out, so creating an error for the others might fail
    throw;
  }
}

// A thread that waited returns the error of the thread that opened the shard. If the other thread opened the
// shard and it has been closed since then, the waiting thread opens it again.
void OpenShards::end_opening(std::size_t shard, std::optional<Error> error) noexcept {
  {
    const std::lock_guard lock(mutex_);
    const auto at = openings_.find(shard);
    at->second->is_over = true;
    at->second->error = std::move(error);
    held_bytes_ -= at->second->reserved_bytes;
    openings_.erase(at);
  }
  opened_.notify_all();
}

void OpenShards::keep(std::size_t shard, const ShardBytes& bytes) {
  ring_.reserve(ring_.size() + 1);  // may throw, so it comes before changes that would have to be undone
  // Replace the reserved size of the shard by its real size.
  held_bytes_ -= std::exchange(openings_.at(shard)->reserved_bytes, 0);
  memory_bytes_ += bytes.memory_bytes;
  held_bytes_ += bytes.held_bytes;
  try {
    make_room();
  } catch (...) {
    memory_bytes_ -= bytes.memory_bytes;
    held_bytes_ -= bytes.held_bytes;
    throw;
  }
  slots_[shard].bytes = bytes;
  slots_[shard].word.fetch_or(kOpen, std::memory_order_release);
  // Inserts the shard just behind the hand of the clock algorithm, so that the hand reaches this shard after
  // all others.
  ring_.insert(ring_.begin() + static_cast<std::ptrdiff_t>(hand_), shard);
  ++hand_;
}

bool OpenShards::is_over() const {
  return ring_.size() >= limits_.count_max || memory_bytes_ > limits_.memory_bytes_max ||
         held_bytes_ > limits_.held_bytes_max;
}

// Closes shards until there is space for one more shard within the limits, or until no further shard can be
// closed.
void OpenShards::make_room() {
  if (!is_over() || ring_.empty()) return;
  auto uses =
      next_uses_ ? next_uses_(ring_) : std::vector<std::uint64_t>(ring_.size(), UpcomingShards::kNever);
  make_room_of_unexpected(uses);
  make_room_of_latest(uses);
}

// uses[i] says when the shard ring_[i] is needed next.
void OpenShards::make_room_of_unexpected(std::vector<std::uint64_t>& uses) {
  for (std::size_t tries = 2 * ring_.size(); tries > 0 && !ring_.empty() && is_over(); --tries) {
    hand_ = hand_ < ring_.size() ? hand_ : 0;
    const std::size_t candidate = ring_[hand_];
    if (uses[hand_] == UpcomingShards::kNever &&
        !slots_[candidate].is_recent.exchange(false, std::memory_order_relaxed) && try_close(candidate)) {
      uses.erase(uses.begin() + static_cast<std::ptrdiff_t>(hand_));
      drop_from_ring(hand_);
    } else {
      ++hand_;
    }
  }
}

void OpenShards::make_room_of_latest(const std::vector<std::uint64_t>& uses) {
  std::vector<std::pair<std::uint64_t, std::size_t>> expected;  // with their shards
  for (std::size_t i = 0; is_over() && i < ring_.size(); ++i) {
    if (uses[i] != UpcomingShards::kNever) expected.emplace_back(uses[i], ring_[i]);
  }
  std::sort(expected.begin(), expected.end(), std::greater());
  for (const auto& [use, shard] : expected) {
    if (!is_over()) return;
    if (try_close(shard))
      drop_from_ring(static_cast<std::size_t>(std::ranges::find(ring_, shard) - ring_.begin()));
  }
}

void OpenShards::drop_from_ring(std::size_t at) {
  ring_.erase(ring_.begin() + static_cast<std::ptrdiff_t>(at));
  if (at < hand_) --hand_;
}

void OpenShards::close(std::size_t shard) {
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::find(ring_, shard);
  if (at != ring_.end() && try_close(shard)) drop_from_ring(static_cast<std::size_t>(at - ring_.begin()));
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
  return openings_.contains(shard) || (slots_[shard].word.load(std::memory_order_relaxed) & kOpen) != 0;
}

std::size_t OpenShards::count() const {
  const std::lock_guard lock(mutex_);
  return ring_.size();
}

}  // namespace ratoon::mds
