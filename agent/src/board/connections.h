// The connections of a board's server, for its one thread. Until one has proved that it is of the attempt,
// little is read from it and little is kept for it.
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
#include "agent/src/board/notes.h"
#include "agent/src/board/unproven.h"
#include "base/core/clock.h"
#include "base/core/unique_fd.h"

namespace ratoon::board {

// How many connections a board takes for a world, of which a rank has a few.
[[nodiscard]] std::size_t connections_for(std::uint32_t world_size);
// How many files the process of the board needs to have open for that, beside `own_files`.
[[nodiscard]] std::size_t open_files_for(std::uint32_t world_size, std::size_t own_files);

class Connections {
 public:
  using Tell = std::function<void(const std::string& sentence)>;
  // What epoll says of the server's own descriptors; all above is a connection.
  static constexpr std::uint64_t kListening = 0;
  static constexpr std::uint64_t kWakeup = 1;
  static constexpr std::size_t kOfOneRankMax = 64;

  // Both stay the caller's, and so does the clock.
  // `tell` is given a sentence, once, when connections are refused.
  Connections(int events_fd, int listening_fd, const Clock& clock, const UnprovenLimits& limits = {},
              Tell tell = {})
      : events_(events_fd),
        listening_(listening_fd),
        clock_(clock),
        tell_(std::move(tell)),
        unproven_(limits, clock.now()) {}

  void begin(const Opening& opening);
  void accept_all();
  // Reads and writes what can be.
  void go_on(std::uint64_t id);
  // What has become due. Returns when that is so again.
  std::optional<Timestamp> keep_time();

  [[nodiscard]] std::size_t size() const { return connections_.size(); }

 private:
  struct Connection {
    UniqueFd fd;
    Handshake handshake;
    std::string in;
    std::string out;       // what the kernel did not take yet
    std::size_t held = 0;  // of both, as counted in held_
    bool is_watched_for_room = false;
  };

  void tell_refused(const std::string& why);
  void stop_accepting();
  void add(UniqueFd fd, const std::string& from);
  void read_from(std::uint64_t id, Connection& connection);
  void hear(std::uint64_t id, Connection& connection, Frame frame);
  void carry_out(std::uint64_t id, Handshake::Step step);
  // Where one rank has too many connections: false.
  [[nodiscard]] bool prove(std::uint64_t id, const Connection& connection);
  void send(Notes::Answers answers);
  // False: it is to be hung up on.
  [[nodiscard]] bool flush(std::uint64_t id, Connection& connection);
  [[nodiscard]] bool count(Connection& connection);
  void hang_up(std::uint64_t id);
  void watch(int fd, std::uint64_t id, std::uint32_t what) const;

  int events_;
  int listening_;
  const Clock& clock_;
  const Tell tell_;
  bool is_refusal_told_ = false;
  bool is_accepting_ = true;
  Timestamp paused_until_{};  // for want of descriptors or memory
  std::uint64_t last_id_ = kWakeup;
  std::size_t held_ = 0;  // bytes of all connections
  Opening opening_{};
  Unproven unproven_;
  std::unordered_map<std::uint64_t, Connection> connections_{};
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::size_t> proven_{};  // by attempt and rank
  Notes notes_{};
  std::array<char, 64 << 10> chunk_{};
};

}  // namespace ratoon::board
