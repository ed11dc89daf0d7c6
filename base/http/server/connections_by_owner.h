// The authenticated connections of a server (Responder::mark_authenticated) by owner, with a limit for each
// owner and a limit for each tenant, which is a group of owners. If an owner exceeds its limit, the server
// closes the owner's oldest connection. So a client that opens thousands of connections does not keep other
// owners from connecting. A tenant at its limit gets no further connection, so that other tenants can still
// connect.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/http/server.h"

namespace ratoon::http {

class ServerSession;

class ConnectionsByOwner {
 public:
  using Session = std::shared_ptr<ServerSession>;

  explicit ConnectionsByOwner(std::optional<std::size_t> tenant_max)
      : connections_per_tenant_max_(tenant_max) {}

  [[nodiscard]] bool has_room(const std::string& tenant) const;
  // Adds `session`. If the owner now has more sessions than its limit (at least 1), removes the owner's
  // oldest session and returns it. The caller closes the returned session.
  [[nodiscard]] Session add(const Session& session, const ConnectionOwner& owner);
  void remove(const Session& session);

 private:
  struct TenantAndName {
    std::string tenant;
    std::string name;
  };
  using Owners = std::unordered_map<std::string, std::deque<Session>>;  // oldest connection first
  struct Tenant {
    Owners owners;
    std::size_t connections = 0;
  };

  const std::optional<std::size_t> connections_per_tenant_max_;
  std::unordered_map<std::string, Tenant> tenants_;
  std::unordered_map<Session, TenantAndName> owners_by_session_;
};

}  // namespace ratoon::http
