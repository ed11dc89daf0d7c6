// Hangs: how long a phase may last, learned from how long it usually does, and which rank is to blame when
// the others wait for it.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/contract/messages.h"
#include "base/core/clock.h"

namespace ratoon::session {

struct HangLimits {
  Duration at_least = std::chrono::seconds(30);
  double times_median = 10;
  // Until enough was seen of a phase: the first step compiles, the first load reads cold disks.
  Duration unlearned = std::chrono::minutes(10);
  // What a program or a user says of a phase outweighs what is learned.
  std::map<ProcessPhase, Duration> fixed{};
};

// Of one process. Told of each change of phase; asked once a second or so by whoever watches.
class PhaseWatch {
 public:
  static constexpr std::size_t kLearned = 31;  // the last so many of each phase
  static constexpr std::size_t kEnough = 5;

  PhaseWatch(HangLimits limits, Timestamp began);

  void enter(ProcessPhase phase, Timestamp at);
  // The program's own word that a long phase is no hang: its time counts anew from here.
  void still_alive(Timestamp at);

  [[nodiscard]] ProcessPhase phase() const { return phase_; }
  // Nothing for kJoining: whoever waits for capacity does not hang.
  [[nodiscard]] std::optional<Duration> allowed(ProcessPhase phase) const;
  [[nodiscard]] Duration in_phase(Timestamp now) const {
    return now - alive_;
  }  // since the last sign of life
  [[nodiscard]] bool is_overdue(Timestamp now) const;

 private:
  struct Lasted {
    std::array<Duration, kLearned> durations{};
    std::size_t count = 0;  // of all; the newest overwrite the oldest
  };
  static constexpr std::size_t kPhases = static_cast<std::size_t>(ProcessPhase::kUser) + 1;

  HangLimits limits_;
  std::array<Lasted, kPhases> lasted_{};
  ProcessPhase phase_ = ProcessPhase::kJoining;
  Timestamp entered_;
  Timestamp alive_;
};

// What a rank says of itself.
struct RankPhase {
  Rank rank{0};
  Step step{0};
  ProcessPhase phase = ProcessPhase::kJoining;
  Duration in_phase{0};
  std::optional<Duration> allowed{};
};

struct Hang {
  std::vector<Rank> culprits;  // empty: all wait for each other in one collective, the network is to blame
};

// Whoever waits in a collective is a victim. To blame is who overstays a phase outside of it; where nobody is
// outside, who is in the collective of an earlier step. nullopt: nobody hangs, or somebody is late in a phase
// that may still last, and the others wait rightly.
[[nodiscard]] std::optional<Hang> find_hang(std::span<const RankPhase> ranks);

}  // namespace ratoon::session
