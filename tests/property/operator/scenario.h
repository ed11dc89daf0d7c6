// What a simulated world is like, drawn from its seed.
#pragma once

#include <cstdint>

#include "tests/property/operator/dice.h"
#include "tests/property/operator/policies.h"

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
  // What happens: each alone must hold laws that it need not hold among others.
  bool has_losses = true;  // else nodes with notice live until nobody is on them
  bool has_notice = true;
  bool loses_operator = true;
  bool is_suspended_at_times = false;
  std::uint64_t former_attempt = 0;  // of another job that saved under the run's name; 0: none did
  std::uint64_t former_step = 0;
  bool begins_anew = false;
  std::uint32_t backoff_seconds = 0;
  std::uint32_t start_deadline_seconds = 60;    // longer than any process takes that will ever speak
  std::uint32_t progress_deadline_seconds = 0;  // 0: none
  std::uint32_t max_duration_seconds = 0;       // 0: none
  Policies policies;
};

inline Scenario draw_scenario(Dice& dice) {
  Scenario s;
  s.members = static_cast<std::uint32_t>(1 + dice.below(4));
  s.processes_per_node = static_cast<std::uint32_t>(1 + dice.below(2));
  s.avoid_node_seconds = static_cast<std::uint32_t>(dice.below(4) * 20);
  s.nodes = 1 + dice.below(s.members + 2);
  s.total_steps = 10 + dice.below(40);
  s.save_every = 1 + dice.below(8);
  s.chaos_ticks = static_cast<int>(20 + dice.below(180));
  if (dice.percent(15)) s.restarts_max = static_cast<std::uint32_t>(dice.below(4));
  s.has_fatal_exits = dice.percent(5);
  s.has_losses = !dice.percent(30);
  s.has_notice = dice.percent(70);
  s.loses_operator = dice.percent(70);
  if (dice.percent(40)) {
    s.members_min = static_cast<std::uint32_t>(1 + dice.below(s.members));
    s.shrink_after_seconds = static_cast<std::uint32_t>(dice.below(3) * 10);
    s.grow_cooldown_seconds = static_cast<std::uint32_t>(dice.below(3) * 10);
  }
  s.is_suspended_at_times = dice.percent(25);
  s.backoff_seconds = static_cast<std::uint32_t>(dice.below(3));
  if (s.has_losses && dice.percent(20))
    s.progress_deadline_seconds = static_cast<std::uint32_t>(10 + dice.below(50));
  if (dice.percent(10)) s.max_duration_seconds = static_cast<std::uint32_t>(20 + dice.below(100));
  if (dice.percent(30)) {
    s.former_attempt = 1 + dice.below(5);
    s.former_step = 1 + dice.below(9);
    s.begins_anew = dice.percent(60);
  }
  if (!s.has_losses) s.total_steps *= 3;  // so that the training does not end before the notice
  return s;
}

}  // namespace ratoon::sim
