// UnauthenticatedClients: the connections whose clients have not proved yet that they belong to the attempt,
// oldest first. The number, the duration and the rate of unauthenticated connections are limited. These
// limits no longer apply to a connection after its client has proved that it has the attempt's secret. At the
// limit, the oldest unauthenticated connection of the address with the most connections is closed. An
// attacker's many connections therefore do not displace the connection of a rank. UnauthenticatedClients does
// no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/core/clock.h"

namespace ratoon::board {

struct UnauthenticatedClientLimits {
  std::size_t connections_max = 256;
  Duration handshake_timeout = std::chrono::seconds(10);  // then the connection is closed
  // During the time `eviction_grace` after its accept(), a connection is not closed in favour of a later one.
  Duration eviction_grace = std::chrono::milliseconds(100);
  std::size_t connections_per_second = 4000;
  std::size_t burst_size = 512;  // connections in a burst, after a time with fewer
  // When the rate limit is reached, the server accepts no connection until the limit allows
  // `resume_connections_min` connections at once.
  std::size_t resume_connections_min = 64;
  int reads_max = 8;  // a handshake has two frames, which may arrive in parts
};

class UnauthenticatedClients {
 public:
  using Id = std::uint64_t;  // grows from one connection to the next

  UnauthenticatedClients(const UnauthenticatedClientLimits& limits, Timestamp now)
      : limits_(limits), accept_tokens_(static_cast<double>(limits.burst_size)), tokens_updated_at_(now) {}

  // Returns whether another connection may be accepted now. may_accept_at() says when to check again.
  [[nodiscard]] bool may_accept(Timestamp now);
  [[nodiscard]] Timestamp may_accept_at(Timestamp now) const;
  // Adds an accepted connection. Call add() only if may_accept() returned true. `from` is a text that stands
  // for the client's address. Returns the connection that the caller must close to stay within the limit, or
  // nothing.
  [[nodiscard]] std::optional<Id> add(Id id, Timestamp now, const std::string& from = "");
  [[nodiscard]] bool contains(Id id) const { return accepted_clients_.contains(id); }
  // Call record_read() before reading from the connection. Returns false if the client has sent its handshake
  // in too many small parts.
  [[nodiscard]] bool record_read(Id id);
  void mark_authenticated(Id id);
  void remove(Id id);
  // Returns the connections whose clients did not complete the handshake in time.
  [[nodiscard]] std::vector<Id> find_expired(Timestamp now) const;
  [[nodiscard]] std::optional<Timestamp> next_deadline() const;

 private:
  struct AcceptedClient {
    Timestamp at;
    std::string from{};
    int reads = 0;
  };
  // Returns the oldest connection of the address with the most connections. If several addresses have the
  // most connections, returns the oldest connection of these addresses.
  [[nodiscard]] Id next_to_evict() const;

  const UnauthenticatedClientLimits limits_;
  std::map<Id, AcceptedClient> accepted_clients_;
  std::map<std::string, std::set<Id>> ids_by_address_;
  double accept_tokens_;  // how many may be accepted now
  Timestamp tokens_updated_at_;
};

}  // namespace ratoon::board
