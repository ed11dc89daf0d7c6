#include "agent/src/checkpoint/ticket.h"

namespace ratoon::checkpoint {

Ticket::Ticket() : state_(std::make_shared<State>()) {}

Result<void> Ticket::wait(SaveLevel level, Duration at_most) const {
  std::unique_lock lock(state_->mutex);
  const auto is_reached = [&] { return state_->level && *state_->level >= level; };
  state_->changed.wait_for(lock, at_most, [&] { return is_reached() || state_->failure; });
  if (is_reached()) return {};
  if (state_->failure) return *state_->failure;
  return Error(ErrorKind::kTimeout, "the save has not come so far within the time given");
}

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

}  // namespace ratoon::checkpoint
