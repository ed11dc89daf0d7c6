#include "agent/src/board/unproven.h"

#include <algorithm>

namespace ratoon::board {

bool Unproven::may_accept(Timestamp now) {
  const double more = seconds(now - counted_) * static_cast<double>(limits_.a_second);
  allowed_ = std::min(static_cast<double>(limits_.in_a_row), allowed_ + more);
  counted_ = now;
  const bool has_place =
      came_.size() < limits_.at_once || came_.begin()->second.at + limits_.undisturbed <= now;
  return has_place && allowed_ >= 1;
}

Timestamp Unproven::may_accept_at(Timestamp now) const {
  Timestamp at = now;
  if (allowed_ < 1) {
    const double missing = static_cast<double>(limits_.batch) - allowed_;
    at = now + from_seconds(missing / static_cast<double>(limits_.a_second));
  }
  if (came_.size() >= limits_.at_once) at = std::max(at, came_.begin()->second.at + limits_.undisturbed);
  return at;
}

std::optional<Unproven::Id> Unproven::add(Id id, Timestamp now) {
  std::optional<Id> leaving;
  if (came_.size() >= limits_.at_once) {
    leaving = came_.begin()->first;
    came_.erase(came_.begin());
  }
  came_.emplace(id, Came{.at = now});
  allowed_ -= 1;
  return leaving;
}

bool Unproven::note_read(Id id) {
  const auto found = came_.find(id);
  return found == came_.end() || ++found->second.reads <= limits_.reads;
}

void Unproven::prove(Id id) {
  if (came_.erase(id) > 0) allowed_ += 1;
}

std::vector<Unproven::Id> Unproven::find_overdue(Timestamp now) const {
  std::vector<Id> overdue;
  for (const auto& [id, came] : came_)
    if (came.at + limits_.handshake <= now) overdue.push_back(id);
  return overdue;
}

std::optional<Timestamp> Unproven::next_overdue() const {
  if (came_.empty()) return std::nullopt;
  return came_.begin()->second.at + limits_.handshake;
}

}  // namespace ratoon::board
