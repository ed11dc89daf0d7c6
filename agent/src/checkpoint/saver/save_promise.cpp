#include "agent/src/checkpoint/saver/save_promise.h"

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
  std::vector<std::shared_ptr<State>> carried;  // by attach(), before another thread has a copy

  // Changes the state of this promise and of all promises that were attached to it by attach().
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
  if (!state_)
    return Error(ErrorKind::kInvalid,
                 "this ticket belongs to no save: use one that Session::save() returned");
  std::unique_lock lock(state_->mutex);
  const auto is_reached = [&] { return state_->level && *state_->level >= level; };
  state_->changed.wait_for(lock, limit_to_one_year(at_most), [&] { return is_reached() || state_->failure; });
  if (is_reached()) return {};
  if (state_->failure) return *state_->failure;
  return Error(ErrorKind::kTimeout, "the save has not reached the requested level within the given time");
}

namespace checkpoint {

SavePromise::SavePromise() : SaveTicket(std::make_shared<State>()) {}

void SavePromise::reach(SaveLevel level) const {
  state_->change([level](State& state) {
    if (!state.level || *state.level < level) state.level = level;
  });
}

void SavePromise::fail(const Error& why) const {
  state_->change([&why](State& state) {
    if (!state.failure) state.failure = why;
  });
}

void SavePromise::attach(const SavePromise& other) const {
  state_->carried.push_back(other.state_);
}

bool SavePromise::is_last_copy() const {
  const auto is_held = [](const auto& state) { return state.use_count() > 1; };
  return !is_held(state_) && std::ranges::none_of(state_->carried, is_held);
}

}  // namespace checkpoint
}  // namespace ratoon
