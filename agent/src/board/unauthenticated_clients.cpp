#include "agent/src/board/unauthenticated_clients.h"

#include <algorithm>

namespace ratoon::board {

bool UnauthenticatedClients::may_accept(Timestamp now) {
  const double more = seconds(now - tokens_updated_at_) * static_cast<double>(limits_.connections_per_second);
  accept_tokens_ = std::min(static_cast<double>(limits_.burst_size), accept_tokens_ + more);
  tokens_updated_at_ = now;
  const bool has_place = accepted_clients_.size() < limits_.connections_max ||
                         accepted_clients_.at(next_to_evict()).at + limits_.eviction_grace <= now;
  return has_place && accept_tokens_ >= 1;
}

Timestamp UnauthenticatedClients::may_accept_at(Timestamp now) const {
  Timestamp at = now;
  if (accept_tokens_ < 1) {
    const double missing = static_cast<double>(limits_.resume_connections_min) - accept_tokens_;
    at = now + from_seconds(missing / static_cast<double>(limits_.connections_per_second));
  }
  if (accepted_clients_.size() >= limits_.connections_max)
    at = std::max(at, accepted_clients_.at(next_to_evict()).at + limits_.eviction_grace);
  return at;
}

UnauthenticatedClients::Id UnauthenticatedClients::next_to_evict() const {
  const auto goes = std::ranges::max_element(ids_by_address_, [](const auto& a, const auto& b) {
    if (a.second.size() != b.second.size()) return a.second.size() < b.second.size();
    return *a.second.begin() > *b.second.begin();
  });
  return *goes->second.begin();
}

std::optional<UnauthenticatedClients::Id> UnauthenticatedClients::add(Id id, Timestamp now,
                                                                      const std::string& from) {
  std::optional<Id> leaving;
  if (accepted_clients_.size() >= limits_.connections_max) {
    leaving = next_to_evict();
    remove(*leaving);
  }
  accepted_clients_.emplace(id, AcceptedClient{.at = now, .from = from});
  ids_by_address_[from].insert(id);
  accept_tokens_ -= 1;
  return leaving;
}

void UnauthenticatedClients::remove(Id id) {
  const auto found = accepted_clients_.find(id);
  if (found == accepted_clients_.end()) return;
  const auto address = ids_by_address_.find(found->second.from);
  address->second.erase(id);
  if (address->second.empty()) ids_by_address_.erase(address);
  accepted_clients_.erase(found);
}

bool UnauthenticatedClients::record_read(Id id) {
  const auto found = accepted_clients_.find(id);
  return found == accepted_clients_.end() || ++found->second.reads <= limits_.reads_max;
}

void UnauthenticatedClients::mark_authenticated(Id id) {
  if (!contains(id)) return;
  remove(id);
  accept_tokens_ += 1;
}

std::vector<UnauthenticatedClients::Id> UnauthenticatedClients::find_expired(Timestamp now) const {
  std::vector<Id> overdue;
  for (const auto& [id, accepted] : accepted_clients_)
    if (accepted.at + limits_.handshake_timeout <= now) overdue.push_back(id);
  return overdue;
}

std::optional<Timestamp> UnauthenticatedClients::next_deadline() const {
  if (accepted_clients_.empty()) return std::nullopt;
  return accepted_clients_.begin()->second.at + limits_.handshake_timeout;
}

}  // namespace ratoon::board
