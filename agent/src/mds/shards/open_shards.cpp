#include "agent/src/mds/shards/open_shards.h"

#include <algorithm>
#include <functional>

#include "agent/src/mds/upcoming_shards.h"

namespace ratoon::mds {

std::optional<ShardBytes> OpenShards::find(std::size_t shard) {
  Slot& slot = slots_[shard];
  const std::uint32_t before = slot.open_bit_and_readers.fetch_add(1, std::memory_order_acquire);
  std::optional<ShardBytes> found;
  if ((before & kOpenBit) != 0) {
    found = slot.bytes;
    if (!slot.was_used_recently.load(std::memory_order_relaxed))
      slot.was_used_recently.store(true, std::memory_order_relaxed);
  }
  slot.open_bit_and_readers.fetch_sub(1, std::memory_order_release);
  return found;
}

Result<ShardBytes> OpenShards::find_or_open(std::size_t shard, std::uint64_t pinned_bytes,
                                            const std::function<Result<ShardBytes>()>& open,
                                            const std::stop_token& stop) {
  while (true) {
    MutexLock lock(mutex_);
    if (auto found = find(shard)) return std::move(*found);
    const auto at = openings_.find(shard);
    if (at == openings_.end()) {
      openings_.emplace(shard, std::make_shared<Opening>(pinned_bytes));
      pinned_bytes_ += pinned_bytes;
      lock.unlock();
      return open_shard(shard, pinned_bytes > 0, open);
    }
    const std::shared_ptr<const Opening> opening = at->second;
    if (!opening_ended_.wait(lock, stop, [&] { return opening->is_finished; }))
      return Error(ErrorKind::kCancelled, "waiting for a shard was cancelled");
    // If the thread that was opening the shard was stopped, this thread opens the shard instead.
    if (opening->error && opening->error->kind() != ErrorKind::kCancelled) return *opening->error;
  }
}

// Every call that may throw is inside of open_shard(), so that a failure always wakes waiting threads and
// releases the reserved memory.
Result<ShardBytes> OpenShards::open_shard(std::size_t shard, bool needs_room,
                                          const std::function<Result<ShardBytes>()>& open) {
  try {
    if (needs_room) {
      const MutexLock lock(mutex_);
      close_shards_over_limits();
    }
    auto opened = open();
    if (opened) {
      const MutexLock lock(mutex_);
      add_open_shard(shard, *opened);
    }
    end_opening(shard, opened ? std::nullopt : std::optional(opened.error()));
    return opened;
  } catch (...) {
    end_opening(shard, std::nullopt);  // memory may be out, so creating an error for the others might fail
    throw;
  }
}

// A thread that waited while another thread opened the shard returns the error of that other thread. If that
// other thread succeeded, but the shard has been closed since then, the waiting thread opens the shard again.
void OpenShards::end_opening(std::size_t shard, std::optional<Error> error) noexcept {
  {
    const MutexLock lock(mutex_);
    const auto at = openings_.find(shard);
    at->second->is_finished = true;
    at->second->error = std::move(error);
    pinned_bytes_ -= at->second->reserved_bytes;
    openings_.erase(at);
  }
  opening_ended_.notify_all();
}

void OpenShards::add_open_shard(std::size_t shard, const ShardBytes& bytes) {
  clock_ring_.reserve(clock_ring_.size() +
                      1);  // may throw, so it comes before changes that would have to be undone
  // Replace the reserved size of the shard by its real size.
  pinned_bytes_ -= std::exchange(openings_.at(shard)->reserved_bytes, 0);
  memory_bytes_ += bytes.memory_bytes;
  pinned_bytes_ += bytes.pinned_bytes;
  try {
    close_shards_over_limits();
  } catch (...) {
    memory_bytes_ -= bytes.memory_bytes;
    pinned_bytes_ -= bytes.pinned_bytes;
    throw;
  }
  slots_[shard].bytes = bytes;
  slots_[shard].open_bit_and_readers.fetch_or(kOpenBit, std::memory_order_release);
  // Inserts the shard just behind the hand of the clock algorithm. The hand then reaches this shard after all
  // others, so this shard is closed last.
  clock_ring_.insert(clock_ring_.begin() + static_cast<std::ptrdiff_t>(clock_hand_), shard);
  ++clock_hand_;
}

bool OpenShards::exceeds_limits() const {
  return clock_ring_.size() >= limits_.count_max || memory_bytes_ > limits_.memory_bytes_max ||
         pinned_bytes_ > limits_.pinned_bytes_max;
}

// Closes shards until there is space for one more shard within the limits, or until no further shard can be
// closed.
void OpenShards::close_shards_over_limits() {
  if (!exceeds_limits() || clock_ring_.empty()) return;
  auto uses = next_uses_ ? next_uses_(clock_ring_)
                         : std::vector<std::uint64_t>(clock_ring_.size(), UpcomingShards::kNeverUsed);
  close_unexpected_shards(uses);
  close_latest_needed_shards(uses);
}

// uses[i] says when the shard clock_ring_[i] is needed next.
void OpenShards::close_unexpected_shards(std::vector<std::uint64_t>& uses) {
  for (std::size_t tries = 2 * clock_ring_.size(); tries > 0 && !clock_ring_.empty() && exceeds_limits();
       --tries) {
    clock_hand_ = clock_hand_ < clock_ring_.size() ? clock_hand_ : 0;
    const std::size_t candidate = clock_ring_[clock_hand_];
    if (uses[clock_hand_] == UpcomingShards::kNeverUsed &&
        !slots_[candidate].was_used_recently.exchange(false, std::memory_order_relaxed) &&
        try_close(candidate)) {
      uses.erase(uses.begin() + static_cast<std::ptrdiff_t>(clock_hand_));
      drop_from_clock_ring(clock_hand_);
    } else {
      ++clock_hand_;
    }
  }
}

void OpenShards::close_latest_needed_shards(const std::vector<std::uint64_t>& uses) {
  std::vector<std::pair<std::uint64_t, std::size_t>> expected;  // with their shards
  for (std::size_t i = 0; exceeds_limits() && i < clock_ring_.size(); ++i) {
    if (uses[i] != UpcomingShards::kNeverUsed) expected.emplace_back(uses[i], clock_ring_[i]);
  }
  std::sort(expected.begin(), expected.end(), std::greater());
  for (const auto& [use, shard] : expected) {
    if (!exceeds_limits()) return;
    if (try_close(shard))
      drop_from_clock_ring(
          static_cast<std::size_t>(std::ranges::find(clock_ring_, shard) - clock_ring_.begin()));
  }
}

void OpenShards::drop_from_clock_ring(std::size_t at) {
  clock_ring_.erase(clock_ring_.begin() + static_cast<std::ptrdiff_t>(at));
  if (at < clock_hand_) --clock_hand_;
}

void OpenShards::close(std::size_t shard) {
  const MutexLock lock(mutex_);
  const auto at = std::ranges::find(clock_ring_, shard);
  if (at != clock_ring_.end() && try_close(shard))
    drop_from_clock_ring(static_cast<std::size_t>(at - clock_ring_.begin()));
}

bool OpenShards::try_close(std::size_t shard) {
  Slot& slot = slots_[shard];
  std::uint32_t idle = kOpenBit;
  if (!slot.open_bit_and_readers.compare_exchange_strong(idle, 0, std::memory_order_acq_rel)) return false;
  memory_bytes_ -= slot.bytes.memory_bytes;
  pinned_bytes_ -= slot.bytes.pinned_bytes;
  slot.bytes = ShardBytes();
  return true;
}

bool OpenShards::is_open_or_opening(std::size_t shard) const {
  const MutexLock lock(mutex_);
  return openings_.contains(shard) ||
         (slots_[shard].open_bit_and_readers.load(std::memory_order_relaxed) & kOpenBit) != 0;
}

std::size_t OpenShards::count() const {
  const MutexLock lock(mutex_);
  return clock_ring_.size();
}

}  // namespace ratoon::mds
