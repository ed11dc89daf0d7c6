#include "agent/src/board/unauthenticated_clients.h"

#include <algorithm>

namespace ratoon::board {

bool UnauthenticatedClients::may_accept(Timestamp now) {
  const double more = seconds(now - counted_) * static_cast<double>(limits_.a_second);
  allowed_ = std::min(static_cast<double>(limits_.in_a_row), allowed_ + more);
  counted_ = now;
  const bool has_place =
      came_.size() < limits_.at_once || came_.at(next_to_evict()).at + limits_.undisturbed <= now;
  return has_place && allowed_ >= 1;
}

Timestamp UnauthenticatedClients::may_accept_at(Timestamp now) const {
  Timestamp at = now;
  if (allowed_ < 1) {
    const double missing = static_cast<double>(limits_.batch) - allowed_;
    at = now + from_seconds(missing / static_cast<double>(limits_.a_second));
  }
  if (came_.size() >= limits_.at_once) at = std::max(at, came_.at(next_to_evict()).at + limits_.undisturbed);
  return at;
}

UnauthenticatedClients::Id UnauthenticatedClients::next_to_evict() const {
  const auto goes = std::ranges::max_element(by_address_, [](const auto& a, const auto& b) {
    if (a.second.size() != b.second.size()) return a.second.size() < b.second.size();
    return *a.second.begin() > *b.second.begin();
  });
  return *goes->second.begin();
}

std::optional<UnauthenticatedClients::Id> UnauthenticatedClients::add(Id id, Timestamp now,
                                                                      const std::string& from) {
  std::optional<Id> leaving;
  if (came_.size() >= limits_.at_once) {
    leaving = next_to_evict();
    remove(*leaving);
  }
  came_.emplace(id, Came{.at = now, .from = from});
  by_address_[from].insert(id);
  allowed_ -= 1;
  return leaving;
}

void UnauthenticatedClients::remove(Id id) {
  const auto found = came_.find(id);
  if (found == came_.end()) return;
  const auto address = by_address_.find(found->second.from);
  address->second.erase(id);
  if (address->second.empty()) by_address_.erase(address);
  came_.erase(found);
}

bool UnauthenticatedClients::note_read(Id id) {
  const auto found = came_.find(id);
  return found == came_.end() || ++found->second.reads <= limits_.reads;
}

void UnauthenticatedClients::prove(Id id) {
  if (!contains(id)) return;
  remove(id);
  allowed_ += 1;
}

std::vector<UnauthenticatedClients::Id> UnauthenticatedClients::find_overdue(Timestamp now) const {
  std::vector<Id> overdue;
  for (const auto& [id, came] : came_)
    if (came.at + limits_.handshake <= now) overdue.push_back(id);
  return overdue;
}

std::optional<Timestamp> UnauthenticatedClients::next_overdue() const {
  if (came_.empty()) return std::nullopt;
  return came_.begin()->second.at + limits_.handshake;
}

}  // namespace ratoon::board
