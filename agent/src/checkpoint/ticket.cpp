#include "agent/src/checkpoint/ticket.h"

#include <condition_variable>
#include <mutex>
#include <optional>

#include "base/core/pause.h"

namespace ratoon {

struct SaveTicket::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<SaveLevel> level;  // guarded by mutex, as is failure
  std::optional<Error> failure;
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
  const std::lock_guard lock(state_->mutex);
  if (!state_->level || *state_->level < level) state_->level = level;
  state_->changed.notify_all();
}

void Ticket::fail(const Error& why) const {
  const std::lock_guard lock(state_->mutex);
  if (!state_->failure) state_->failure = why;
  state_->changed.notify_all();
}

}  // namespace checkpoint
}  // namespace ratoon
