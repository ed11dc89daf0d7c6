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
[[nodiscard]] std::size_t connections_max_for(std::uint32_t world_size);
// Returns how many open files rank 0 needs: those for the connections of all ranks, plus `own_files`, the
// number of its other open files.
[[nodiscard]] std::size_t open_files_needed_for(std::uint32_t world_size, std::size_t own_files);

class Connections {
 public:
  using ReportFunction = std::function<void(const std::string& sentence)>;
  // kListeningId and kWakeupId are the epoll ids of the server's own two descriptors. The epoll ids of
  // connections are larger than kWakeupId.
  static constexpr std::uint64_t kListeningId = 0;
  static constexpr std::uint64_t kWakeupId = 1;
  static constexpr std::size_t kConnectionsPerRankMax = 64;
  // Of all connections of a rank together. A rank sends one frame at a time, and a frame has at most
  // kFrameBytesMax bytes.
  static constexpr std::size_t kBufferedBytesPerRankMax = 2 * kFrameBytesMax;

  // The caller must keep the two descriptors and the clock alive while the Connections object exists. The
  // function `tell` receives one message when a connection is refused for the first time.
  Connections(int epoll_fd, int listening_fd, const Clock& clock,
              const UnauthenticatedClientLimits& limits = {}, ReportFunction tell = {})
      : epoll_fd_(epoll_fd),
        listening_fd_(listening_fd),
        clock_(clock),
        report_(std::move(tell)),
        unauthenticated_clients_(limits, clock.now()) {}

  void begin_attempt(const ServedAttempt& served_attempt);
  void accept_all();
  // Continues to read from and write to connection `id`, without blocking.
  void continue_io(std::uint64_t id);
  // Closes connections whose handshake takes too long, and resumes accepting after a pause. Returns when to
  // call handle_timeouts() again.
  std::optional<Timestamp> handle_timeouts();

  [[nodiscard]] std::size_t size() const { return connections_.size(); }

 private:
  // The resources that the authenticated connections of a rank use in an attempt.
  struct RankUse {
    std::size_t connections = 0;
    std::size_t buffered_bytes = 0;
  };
  struct Connection {
    UniqueFd fd;
    Handshake handshake;
    std::string in;
    std::string unsent_bytes;        // bytes that the kernel did not accept yet
    std::size_t buffered_bytes = 0;  // bytes of both, as counted in buffered_bytes_
    bool is_waiting_to_send = false;
    RankUse* rank_use = nullptr;  // null until the client is authenticated
  };

  void report_refused(const std::string& why);
  void stop_accepting();
  void add(UniqueFd fd, const std::string& from);
  void read_from(std::uint64_t id, Connection& connection);
  void handle_frame(std::uint64_t id, Connection& connection, Frame frame);
  void apply_handshake_step(std::uint64_t id, Handshake::Step step);
  // Returns false if the rank has too many connections.
  [[nodiscard]] bool admit_authenticated(std::uint64_t id, Connection& connection);
  void send_answers(KeyValueStore::Answers answers);
  // Sends the output that is stored for this connection. Returns false if the connection must be closed.
  [[nodiscard]] bool flush(std::uint64_t id, Connection& connection);
  // Counts the bytes that the server stores for this connection. Returns false if the bytes of all
  // connections, or of this rank's connections, exceed their limit, and the caller then closes this
  // connection.
  [[nodiscard]] bool update_buffered_bytes(Connection& connection);
  void disconnect_client(std::uint64_t id);
  void set_epoll_events(int fd, std::uint64_t id, std::uint32_t what) const;

  int epoll_fd_;
  int listening_fd_;
  const Clock& clock_;
  const ReportFunction report_;
  bool is_refusal_reported_ = false;
  bool is_accepting_ = true;
  Timestamp accept_paused_until_{};  // because descriptors or memory ran out
  std::uint64_t last_id_ = kWakeupId;
  std::size_t buffered_bytes_ = 0;  // bytes of all connections
  ServedAttempt served_attempt_{};
  UnauthenticatedClients unauthenticated_clients_;
  std::unordered_map<std::uint64_t, Connection> connections_{};
  std::map<std::pair<std::uint64_t, std::uint32_t>, RankUse> rank_uses_{};  // by attempt and rank
  KeyValueStore key_value_store_{};
  std::array<char, 64 << 10> receive_buffer_{};
};

}  // namespace ratoon::board
