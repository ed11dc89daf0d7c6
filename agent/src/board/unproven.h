// The connections that have not proved that they are of the attempt, oldest first: few, for a short time, and
// so many a second, whatever comes. A member's connection costs nothing of that once it is proven: only
// strangers use it up. Where there is no place left, the oldest one of the address that has the most goes: a
// rank keeps its place however many come from elsewhere. Pure.
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

struct UnprovenLimits {
  std::size_t at_once = 256;
  Duration handshake = std::chrono::seconds(10);          // then it is hung up on
  Duration undisturbed = std::chrono::milliseconds(100);  // so long none goes for one that came after it
  std::size_t a_second = 4000;
  std::size_t in_a_row = 512;  // after a time in which fewer came
  std::size_t batch = 64;      // once none may be accepted, it is waited for so many
  int reads = 8;               // a handshake has two frames, which may come in parts
};

class Unproven {
 public:
  using Id = std::uint64_t;  // grows from one connection to the next

  Unproven(const UnprovenLimits& limits, Timestamp now)
      : limits_(limits), allowed_(static_cast<double>(limits.in_a_row)), counted_(now) {}

  // Whether one more may be accepted now, and else when to look again.
  [[nodiscard]] bool may_accept(Timestamp now);
  [[nodiscard]] Timestamp may_accept_at(Timestamp now) const;
  // After may_accept(). `from`: an address, any text. Returns the one that goes for it.
  [[nodiscard]] std::optional<Id> add(Id id, Timestamp now, const std::string& from = "");
  [[nodiscard]] bool contains(Id id) const { return came_.contains(id); }
  // Before what it sent is read; false: it sends in too many parts.
  [[nodiscard]] bool note_read(Id id);
  void prove(Id id);
  void remove(Id id);
  // Those whose time is over.
  [[nodiscard]] std::vector<Id> find_overdue(Timestamp now) const;
  [[nodiscard]] std::optional<Timestamp> next_overdue() const;

 private:
  struct Came {
    Timestamp at;
    std::string from{};
    int reads = 0;
  };
  // Of the address that has the most; of several such the oldest.
  [[nodiscard]] Id next_to_go() const;

  const UnprovenLimits limits_;
  std::map<Id, Came> came_;
  std::map<std::string, std::set<Id>> by_address_;
  double allowed_;  // so many may be accepted
  Timestamp counted_;
};

}  // namespace ratoon::board
