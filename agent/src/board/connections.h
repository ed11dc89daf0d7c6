// Connections: the connections of ranks to the board's server, which stores values for the ranks. Only the
// server's thread uses a Connections object. Until a client has proved that it has the attempt's secret, the
// server reads few bytes from it and uses little memory for it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "agent/src/board/handshake.h"
#include "agent/src/board/key_value_store.h"
#include "agent/src/board/unauthenticated_clients.h"
#include "base/core/clock.h"
#include "base/core/unique_fd.h"

namespace ratoon::board {

// Returns the maximum number of connections for this number of ranks. Each rank may have several connections.
[[nodiscard]] std::size_t connections_for(std::uint32_t world_size);
// Returns the number of open files that rank 0 needs for the connections of all ranks and its `own_files`.
[[nodiscard]] std::size_t open_files_for(std::uint32_t world_size, std::size_t own_files);

class Connections {
 public:
  using Tell = std::function<void(const std::string& sentence)>;
  // The epoll ids of the server's own two descriptors. Larger epoll ids belong to connections.
  static constexpr std::uint64_t kListening = 0;
  static constexpr std::uint64_t kWakeup = 1;
  static constexpr std::size_t kConnectionsOfRankMax = 64;

  // The caller must keep both descriptors and the clock alive. The function `tell` receives one message when
  // a connection is refused for the first time.
  Connections(int events_fd, int listening_fd, const Clock& clock,
              const UnauthenticatedClientLimits& limits = {}, Tell tell = {})
      : events_(events_fd),
        listening_(listening_fd),
        clock_(clock),
        tell_(std::move(tell)),
        unauthenticated_(limits, clock.now()) {}

  void begin(const Opening& opening);
  void accept_all();
  // Continues to read from and write to connection `id`, without blocking.
  void go_on(std::uint64_t id);
  // Closes connections whose handshake takes too long, and resumes accepting after a pause. Returns when to
  // call keep_time() again.
  std::optional<Timestamp> keep_time();

  [[nodiscard]] std::size_t size() const { return connections_.size(); }

 private:
  struct Connection {
    UniqueFd fd;
    Handshake handshake;
    std::string in;
    std::string out;       // bytes that the kernel did not accept yet
    std::size_t held = 0;  // bytes of both, as counted in held_
    bool is_watched_for_room = false;
  };

  void report_refused(const std::string& why);
  void stop_accepting();
  void add(UniqueFd fd, const std::string& from);
  void read_from(std::uint64_t id, Connection& connection);
  void hear(std::uint64_t id, Connection& connection, Frame frame);
  void carry_out(std::uint64_t id, Handshake::Step step);
  // Returns false if the rank has too many connections.
  [[nodiscard]] bool prove(std::uint64_t id, const Connection& connection);
  void send(KeyValueStore::Answers answers);
  // Sends the output that is stored for this connection. Returns false if the connection must be closed.
  [[nodiscard]] bool flush(std::uint64_t id, Connection& connection);
  [[nodiscard]] bool count(Connection& connection);
  void disconnect_client(std::uint64_t id);
  void watch(int fd, std::uint64_t id, std::uint32_t what) const;

  int events_;
  int listening_;
  const Clock& clock_;
  const Tell tell_;
  bool is_refusal_reported_ = false;
  bool is_accepting_ = true;
  Timestamp paused_until_{};  // because descriptors or memory ran out
  std::uint64_t last_id_ = kWakeup;
  std::size_t held_ = 0;  // bytes of all connections
  Opening opening_{};
  UnauthenticatedClients unauthenticated_;
  std::unordered_map<std::uint64_t, Connection> connections_{};
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::size_t> proven_{};  // by attempt and rank
  KeyValueStore entries_{};
  std::array<char, 64 << 10> chunk_{};
};

}  // namespace ratoon::board
