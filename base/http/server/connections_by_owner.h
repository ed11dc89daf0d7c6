// The authenticated connections of a server (Responder::mark_authenticated) by owner, with a limit for each
// owner. A connection beyond the limit closes its owner's oldest connection, so a client that opens thousands
// of connections does not use up the places of other owners.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>

namespace ratoon::http {

class ServerSession;

class ConnectionsByOwner {
 public:
  using Session = std::shared_ptr<ServerSession>;

  // Returns the connection that the server must close to make room for the new one, or null. `max`, the limit
  // for each owner, is at least one.
  [[nodiscard]] Session add(const Session& session, const std::string& owner, std::size_t max);
  void remove(const Session& session);

 private:
  std::unordered_map<std::string, std::deque<Session>> sessions_of_;  // oldest first
  std::unordered_map<Session, std::string> owner_of_;
};

}  // namespace ratoon::http
