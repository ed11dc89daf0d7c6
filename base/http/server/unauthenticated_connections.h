// The connections of a server that are not authenticated yet (Responder::mark_authenticated), oldest first,
// up to a limit. If a new connection exceeds the limit, the server closes one of the connections. If a client
// address has more connections than 1/16 of the limit, the server closes a connection of the address that has
// the most. It closes the oldest one without a running request, or the oldest one if all have a running
// request. If no address has so many, the server closes the oldest connection without a running request that
// is older than two seconds. An honest client sends its first request within two seconds. If all connections
// have a running request or are younger, the server closes the newest connection, so that handshakes in
// progress can finish when 1000 clients reconnect at once.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace ratoon::http {

class ServerSession;

class UnauthenticatedConnections {
 public:
  using Session = std::shared_ptr<ServerSession>;
  using Time = std::chrono::steady_clock::time_point;

  // At least one.
  explicit UnauthenticatedConnections(std::size_t max) : connections_max_(max) {}

  // Returns the connection to close if `session` exceeds the limit (perhaps `session` itself), or null.
  [[nodiscard]] Session add(const Session& session, const std::string& address, Time now);
  void set_has_running_request(const Session& session, bool has_running_request);
  void remove(const Session& session);

 private:
  struct UnauthenticatedConnection {
    Session session;
    std::string address;
    Time opened_at{};
    bool has_running_request = false;
  };

  [[nodiscard]] std::vector<UnauthenticatedConnection>::iterator find_connection_to_close(Time now);

  const std::size_t connections_max_;
  std::vector<UnauthenticatedConnection> connections_;
};

}  // namespace ratoon::http
