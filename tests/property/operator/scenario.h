// The properties of a simulated world, drawn from its seed.
#pragma once

#include <cstdint>
#include <string>

#include "tests/property/operator/moves.h"
#include "tests/property/operator/policies.h"
#include "tests/property/operator/simulated_storage.h"

namespace ratoon::sim {

struct Scenario {
  std::uint32_t members = 2;
  std::uint32_t processes_per_node = 1;
  bool has_agent = true;  // else programs that were told at their start whom they meet
  std::uint32_t restarts_max = 100000;
  std::uint32_t avoid_node_seconds = 300;
  std::uint32_t members_min = 0;  // 0: not elastic
  std::uint32_t shrink_after_seconds = 0;
  std::uint32_t grow_cooldown_seconds = 0;
  std::uint64_t nodes = 3;
  std::uint64_t total_steps = 30;
  std::uint64_t save_every = 5;
  int chaos_ticks = 80;
  bool has_fatal_exits = false;
  // The kinds of events: with one kind alone, laws must hold that need not hold with several.
  bool has_losses = true;  // else nodes with notice live until nobody is on them
  bool has_notice = true;
  bool loses_operator = true;
  bool is_suspended_at_times = false;
  std::uint64_t former_attempt = 0;  // of another job that saved under the run's name; 0: none did
  std::uint64_t former_step = 0;
  std::uint64_t former_more = 0;  // checkpoints after that one
  bool rolls_back = false;        // to that one, and gives up those after it
  bool begins_anew = false;
  std::uint32_t backoff_seconds = 0;
  std::uint32_t heartbeat_seconds = 1;
  std::uint32_t suspect_after_seconds = 3;
  std::uint32_t start_deadline_seconds = 60;    // 0: none
  std::uint32_t progress_deadline_seconds = 0;  // 0: none
  std::uint32_t max_duration_seconds = 0;       // 0: none
  Tiers tiers = Tiers::kVolume;
  std::uint64_t keeps_checkpoints = 0;  // 0: all
  bool has_damage = false;
  bool has_wrong_completions = false;  // never drawn: a law of its own has them
  bool starts_in_overload = false;     // never drawn, likewise: members start for up to the start deadline
  Policies policies;
  // The scenario of one job among several.
  std::string job_name = "digits";
  std::string names_nodes = "node-";
  bool follows_nodes = false;  // has those of another job's world
};

// These events come beside losses, since each of them may cost steps by itself.
inline void draw_storage(Moves& moves, Scenario& s) {
  if (moves.percent("retention", 60)) s.keeps_checkpoints = 1 + moves.below("keeps", 4);
  if (!s.has_losses) return;
  if (moves.percent("local-disks", 25)) s.tiers = Tiers::kLocalAndStore;
  if (moves.percent("local-disks-alone", 3)) s.tiers = Tiers::kLocal;
  s.has_damage = moves.percent("damage", 20);
}

inline void draw_former(Moves& moves, Scenario& s) {
  if (!moves.percent("former-run", 30)) return;
  s.former_attempt = 1 + moves.below("former-attempt", 5);
  s.former_step = 1 + moves.below("former-step", 9);
  s.begins_anew = moves.percent("begins-anew", 60);
  if (s.begins_anew) return;
  s.former_more = moves.below("former-more", 4);
  s.rolls_back = moves.percent("rolls-back", 40);
}

inline void draw_times(Moves& moves, Scenario& s) {
  if (moves.percent("beats-slowly", 30))
    s.heartbeat_seconds = static_cast<std::uint32_t>(1 + moves.below("heartbeat", 3));
  s.suspect_after_seconds = 3 * s.heartbeat_seconds;
  if (moves.percent("is-patient", 30))
    s.suspect_after_seconds += static_cast<std::uint32_t>(moves.below("patience", 6));
  if (moves.percent("other-deadline", 30))
    s.start_deadline_seconds = static_cast<std::uint32_t>(moves.pick("deadline", {0, 30, 45, 90, 120}));
  s.backoff_seconds = static_cast<std::uint32_t>(moves.below("backoff", 3));
  if (s.has_losses && moves.percent("progress-deadline", 20))
    s.progress_deadline_seconds = static_cast<std::uint32_t>(10 + moves.below("progress-seconds", 50));
  if (moves.percent("duration", 10))
    s.max_duration_seconds = static_cast<std::uint32_t>(20 + moves.below("duration-seconds", 100));
}

inline Scenario draw_scenario(Moves& moves) {
  Scenario s;
  const bool is_large = moves.percent("large", 8);
  s.members = static_cast<std::uint32_t>(1 + moves.below("members", is_large ? 8 : 4));
  s.processes_per_node = static_cast<std::uint32_t>(1 + moves.below("processes", is_large ? 4 : 2));
  s.avoid_node_seconds = static_cast<std::uint32_t>(moves.below("avoid", 4) * 20);
  s.nodes = 1 + moves.below("nodes", s.members + 2);
  s.total_steps = 10 + moves.below("steps", 40);
  s.save_every = 1 + moves.below("save-every", 8);
  s.chaos_ticks = static_cast<int>(20 + moves.below("chaos", 180));
  if (moves.percent("few-restarts", 15))
    s.restarts_max = static_cast<std::uint32_t>(moves.below("restarts", 4));
  s.has_fatal_exits = moves.percent("fatal-exits", 5);
  s.has_losses = !moves.percent("no-losses", 30);
  s.has_notice = moves.percent("notices", 70);
  s.loses_operator = moves.percent("operators-end", 70);
  if (moves.percent("elastic", 40)) {
    s.members_min = static_cast<std::uint32_t>(1 + moves.below("members-min", s.members));
    s.shrink_after_seconds = static_cast<std::uint32_t>(moves.below("shrink-after", 3) * 10);
    s.grow_cooldown_seconds = static_cast<std::uint32_t>(moves.below("grow-cooldown", 3) * 10);
  }
  s.is_suspended_at_times = moves.percent("suspends", 25);
  draw_times(moves, s);
  draw_former(moves, s);
  draw_storage(moves, s);
  if (!s.has_losses) s.total_steps *= 3;  // so that the training does not end before the notice
  return s;
}

}  // namespace ratoon::sim
