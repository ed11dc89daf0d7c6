// The connections of a board's server, for its one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "agent/src/board/notes.h"
#include "base/core/unique_fd.h"

namespace ratoon::board {

class Connections {
 public:
  // What epoll says of the server's own descriptors; all above is a connection.
  static constexpr std::uint64_t kListening = 0;
  static constexpr std::uint64_t kWakeup = 1;

  // Both stay the caller's.
  Connections(int events_fd, int listening_fd) : events_(events_fd), listening_(listening_fd) {}

  void accept_all();
  [[nodiscard]] bool is_accepting() const { return is_accepting_; }
  void accept_again();

  void begin(std::uint64_t attempt) { send(notes_.begin(attempt)); }
  // Reads and writes what can be.
  void go_on(std::uint64_t id);

 private:
  struct Connection {
    UniqueFd fd;
    std::string in;
    std::string out;       // what the kernel did not take yet
    std::size_t held = 0;  // of both, as counted in held_
    bool is_watched_for_room = false;
  };

  void read_from(std::uint64_t id, Connection& connection);
  void send(Notes::Answers answers);
  // False: it is to be hung up on.
  [[nodiscard]] bool flush(std::uint64_t id, Connection& connection);
  [[nodiscard]] bool count(Connection& connection);
  void hang_up(std::uint64_t id);
  void watch(int fd, std::uint64_t id, std::uint32_t what) const;

  int events_;
  int listening_;
  bool is_accepting_ = true;
  std::uint64_t last_id_ = kWakeup;
  std::size_t held_ = 0;  // bytes of all connections
  std::unordered_map<std::uint64_t, Connection> connections_;
  Notes notes_;
};

}  // namespace ratoon::board
