// UnauthenticatedClients: the connections whose clients have not proved yet that they belong to the attempt,
// oldest first. The number, the duration and the rate of unauthenticated connections are limited. A
// connection no longer counts after its client has proved that it has the attempt's secret. At the limit, the
// oldest connection of the address with the most connections is closed. An attacker's many connections
// therefore do not displace the connection of a rank. No I/O.
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
  std::size_t at_once = 256;
  Duration handshake = std::chrono::seconds(10);  // then the connection is closed
  // The time after accept() in which a connection is never closed to make room for a later connection.
  Duration undisturbed = std::chrono::milliseconds(100);
  std::size_t a_second = 4000;
  std::size_t in_a_row = 512;  // connections in a burst, after a time with fewer
  // When the rate limit is reached, the server accepts no connection until it may accept `batch` at once.
  std::size_t batch = 64;
  int reads = 8;  // a handshake has two frames, which may arrive in parts
};

class UnauthenticatedClients {
 public:
  using Id = std::uint64_t;  // grows from one connection to the next

  UnauthenticatedClients(const UnauthenticatedClientLimits& limits, Timestamp now)
      : limits_(limits), allowed_(static_cast<double>(limits.in_a_row)), counted_(now) {}

  // Whether another connection may be accepted now; if not, may_accept_at() says when to check again.
  [[nodiscard]] bool may_accept(Timestamp now);
  [[nodiscard]] Timestamp may_accept_at(Timestamp now) const;
  // Adds an accepted connection. Call add() only if may_accept() returned true. `from` is the client's
  // address, as any text. Returns the connection that the caller must close to stay within the limit, or
  // nothing.
  [[nodiscard]] std::optional<Id> add(Id id, Timestamp now, const std::string& from = "");
  [[nodiscard]] bool contains(Id id) const { return came_.contains(id); }
  // Call note_read() before reading from the connection. Returns false if the client has sent its handshake
  // in too many small parts.
  [[nodiscard]] bool note_read(Id id);
  void prove(Id id);
  void remove(Id id);
  // Returns the connections whose clients did not complete the handshake in time.
  [[nodiscard]] std::vector<Id> find_overdue(Timestamp now) const;
  [[nodiscard]] std::optional<Timestamp> next_overdue() const;

 private:
  struct Came {
    Timestamp at;
    std::string from{};
    int reads = 0;
  };
  // Returns the oldest connection of the address with the most connections. If several addresses have the
  // most connections, returns the oldest connection of these addresses.
  [[nodiscard]] Id next_to_evict() const;

  const UnauthenticatedClientLimits limits_;
  std::map<Id, Came> came_;
  std::map<std::string, std::set<Id>> by_address_;
  double allowed_;  // how many may be accepted now
  Timestamp counted_;
};

}  // namespace ratoon::board
