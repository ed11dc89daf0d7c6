#include "base/http/server/connections_by_owner.h"

#include <algorithm>
#include <utility>

namespace ratoon::http {

ConnectionsByOwner::Session ConnectionsByOwner::add(const Session& session, const std::string& owner,
                                                    std::size_t max) {
  if (!owner_of_.emplace(session, owner).second) return nullptr;
  auto& sessions = sessions_of_[owner];
  sessions.push_back(session);
  if (sessions.size() <= std::max<std::size_t>(max, 1)) return nullptr;
  Session leaving = sessions.front();
  remove(leaving);
  return leaving;
}

void ConnectionsByOwner::remove(const Session& session) {
  const auto owner = owner_of_.find(session);
  if (owner == owner_of_.end()) return;
  const auto sessions = sessions_of_.find(owner->second);
  std::erase(sessions->second, session);
  if (sessions->second.empty()) sessions_of_.erase(sessions);
  owner_of_.erase(owner);
}

}  // namespace ratoon::http
