#include "base/http/server/connections_by_owner.h"

#include <algorithm>

namespace ratoon::http {

bool ConnectionsByOwner::has_room(const std::string& tenant) const {
  const auto found = tenants_.find(tenant);
  return !connections_per_tenant_max_ || found == tenants_.end() ||
         found->second.connections < *connections_per_tenant_max_;
}

ConnectionsByOwner::Session ConnectionsByOwner::add(const Session& session, const ConnectionOwner& owner) {
  if (!owners_by_session_.emplace(session, TenantAndName{.tenant = owner.tenant, .name = owner.name}).second)
    return nullptr;
  Tenant& tenant = tenants_[owner.tenant];
  ++tenant.connections;
  auto& sessions = tenant.owners[owner.name];
  sessions.push_back(session);
  if (sessions.size() <= std::max<std::size_t>(owner.connections_max, 1)) return nullptr;
  Session leaving = sessions.front();
  remove(leaving);
  return leaving;
}

void ConnectionsByOwner::remove(const Session& session) {
  const auto place = owners_by_session_.find(session);
  if (place == owners_by_session_.end()) return;
  const auto tenant = tenants_.find(place->second.tenant);
  const auto sessions = tenant->second.owners.find(place->second.name);
  std::erase(sessions->second, session);
  if (sessions->second.empty()) tenant->second.owners.erase(sessions);
  if (--tenant->second.connections == 0) tenants_.erase(tenant);
  owners_by_session_.erase(place);
}

}  // namespace ratoon::http
