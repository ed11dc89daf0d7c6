#include "agent/src/checkpoint/ticket.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

#include "base/core/pause.h"

namespace ratoon {

struct SaveTicket::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<SaveLevel> level;  // guarded by mutex, as is failure
  std::optional<Error> failure;
  std::vector<std::shared_ptr<State>> carried;  // by carry(), before another thread has a copy

  // Of this one and of those that it carries.
  template <class Change>
  void change(const Change& act) {
    {
      const std::lock_guard lock(mutex);
      act(*this);
      changed.notify_all();
    }
    for (const auto& one : carried) one->change(act);
  }
};

Result<void> SaveTicket::wait(SaveLevel level, std::chrono::nanoseconds at_most) const {
  if (!state_) return Error(ErrorKind::kInvalid, "this ticket is of no save: Session::save() gives one");
  std::unique_lock lock(state_->mutex);
  const auto is_reached = [&] { return state_->level && *state_->level >= level; };
  state_->changed.wait_for(lock, waitable(at_most), [&] { return is_reached() || state_->failure; });
  if (is_reached()) return {};
  if (state_->failure) return *state_->failure;
  return Error(ErrorKind::kTimeout, "the save has not come so far within the time given");
}

namespace checkpoint {

Ticket::Ticket() : SaveTicket(std::make_shared<State>()) {}

void Ticket::reach(SaveLevel level) const {
  state_->change([level](State& state) {
    if (!state.level || *state.level < level) state.level = level;
  });
}

void Ticket::fail(const Error& why) const {
  state_->change([&why](State& state) {
    if (!state.failure) state.failure = why;
  });
}

void Ticket::carry(const Ticket& other) const {
  state_->carried.push_back(other.state_);
}

bool Ticket::is_the_last() const {
  const auto is_held = [](const auto& state) { return state.use_count() > 1; };
  return !is_held(state_) && std::ranges::none_of(state_->carried, is_held);
}

}  // namespace checkpoint
}  // namespace ratoon
