#include "agent/src/checkpoint/saver/save_promise.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/core/threads/condition_variable.h"
#include "base/core/threads/pause.h"

namespace ratoon {

struct SaveTicket::State {
  Mutex mutex;
  ConditionVariable changed;
  std::optional<SaveLevel> level RATOON_GUARDED_BY(mutex);
  std::optional<Error> failure RATOON_GUARDED_BY(mutex);
  // The mutex does not guard `carried`, because attach() changes it before another thread has a copy.
  std::vector<std::shared_ptr<State>> carried;

  // Changes the state of this promise and of all promises that were attached to it by attach().
  template <class Change>
  void change(const Change& act) {
    {
      const MutexLock lock(mutex);
      act(level, failure);
      changed.notify_all();
    }
    for (const auto& one : carried) one->change(act);
  }
};

Result<void> SaveTicket::wait(SaveLevel level, std::chrono::nanoseconds at_most) const {
  if (!state_)
    return Error(ErrorKind::kInvalid,
                 "this ticket belongs to no save: use one that Session::save() returned");
  State& state = *state_;
  MutexLock lock(state.mutex);
  const auto is_reached = [&]() RATOON_REQUIRES(state.mutex) { return state.level && *state.level >= level; };
  state.changed.wait_for(lock, limit_to_one_year(at_most),
                         [&]() RATOON_REQUIRES(state.mutex) { return is_reached() || state.failure; });
  if (is_reached()) return {};
  if (state.failure) return *state.failure;
  return Error(ErrorKind::kTimeout, "the save has not reached the requested level within the given time");
}

namespace checkpoint {

SavePromise::SavePromise() : SaveTicket(std::make_shared<State>()) {}

void SavePromise::reach(SaveLevel level) const {
  state_->change([level](std::optional<SaveLevel>& reached, std::optional<Error>&) {
    if (!reached || *reached < level) reached = level;
  });
}

void SavePromise::fail(const Error& why) const {
  state_->change([&why](std::optional<SaveLevel>&, std::optional<Error>& failure) {
    if (!failure) failure = why;
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
