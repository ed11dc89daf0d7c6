// What a simulated job asks for beyond its members, and what the platform does to it because of that. Drawn
// apart from the rest of the scenario, so that the world of an older seed stays what it was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/training_job.h"
#include "tests/property/operator/dice.h"

namespace ratoon::sim {

inline constexpr const char* kWorker = "worker";  // sized by numNodes
inline constexpr const char* kHelper = "helper";  // with a number of its own

struct Policies {
  std::uint32_t helpers = 0;
  std::vector<std::string> deciding;  // of the success policy
  std::vector<std::string> failing;   // of the failure policy
  std::vector<api::RestartRule> rules;
  std::uint32_t losses_without_step_max = 10;
  api::CleanPodPolicy clean_pods = api::CleanPodPolicy::kRunning;
  std::optional<std::uint32_t> ttl_seconds;
  std::uint32_t grace_seconds = 0;   // that pods get which the platform evicts
  bool platform_ends_pods = false;   // evictions, memory limits, programs that take SIGTERM for their end
  bool has_late_watches = false;     // the operator's copy of pods and nodes is behind at times
  bool tells_avoided_nodes = false;  // pods do, as on a cluster
  bool is_resized = false;           // while it is suspended
  bool deletes_pods = false;         // somebody does, with grace
  bool rests = false;                // is left suspended for a while once the faults are over
  std::uint32_t more_places = 0;     // of an elastic job, beyond the members that it asks for
  std::uint64_t zones = 0;           // that nodes say they are in; 0: they do not
  bool holds_pods = true;            // a finalizer does, so that who is deleted stays to be seen for a while
  bool has_neighbours = false;       // in each pod, which run on when its trainer ended
  bool remakes_pods = false;         // the name of a pod that vanished is taken again, as by a late creation
};

// Roles of which a policy is; nobody named means all.
inline std::vector<std::string> draw_roles(Dice& dice, std::uint32_t helpers) {
  if (helpers == 0) return dice.percent(70) ? std::vector<std::string>() : std::vector<std::string>{kWorker};
  switch (dice.below(4)) {
    case 0:
      return {};
    case 1:
      return {kHelper};
    case 2:
      return {kWorker, kHelper};
    default:
      return {kWorker};
  }
}

inline api::RestartRule draw_rule(Dice& dice, std::uint32_t helpers) {
  using api::RuleAction;
  api::RestartRule rule;
  // Most of what a rule can say fails few jobs: else there would be little left to look at.
  rule.action = dice.percent(15) ? RuleAction::kFail : dice.pick({RuleAction::kRestart, RuleAction::kIgnore});
  if (dice.percent(60)) rule.exit_codes.push_back(dice.pick({1U, 84U, 81U, 82U, 143U}));
  if (dice.percent(40)) rule.signals.push_back(dice.pick({6U, 9U, 11U}));
  if (dice.percent(40)) rule.reasons.emplace_back(dice.pick({"Evicted", "OOMKilled"}));
  if (helpers > 0 && dice.percent(40)) rule.roles.emplace_back(dice.pick({kWorker, kHelper}));
  return rule;
}

inline Policies draw_policies(Dice dice) {
  Policies p;
  if (dice.percent(35)) p.helpers = static_cast<std::uint32_t>(1 + dice.below(2));
  p.deciding = draw_roles(dice, p.helpers);
  p.failing = draw_roles(dice, p.helpers);
  for (std::uint64_t rules = dice.below(3); rules > 0; --rules) p.rules.push_back(draw_rule(dice, p.helpers));
  if (dice.percent(20)) p.losses_without_step_max = static_cast<std::uint32_t>(1 + dice.below(4));
  p.clean_pods =
      dice.pick({api::CleanPodPolicy::kNone, api::CleanPodPolicy::kRunning, api::CleanPodPolicy::kAll});
  if (dice.percent(50)) p.ttl_seconds = static_cast<std::uint32_t>(dice.below(60));
  p.grace_seconds = static_cast<std::uint32_t>(dice.below(30));
  p.platform_ends_pods = dice.percent(40);
  p.has_late_watches = dice.percent(40);
  p.tells_avoided_nodes = dice.percent(60);
  p.is_resized = dice.percent(60);
  p.rests = dice.percent(25);
  p.deletes_pods = dice.percent(30);
  if (dice.percent(50)) p.more_places = static_cast<std::uint32_t>(1 + dice.below(2));
  p.remakes_pods = dice.percent(20);
  if (dice.percent(40)) p.zones = 1 + dice.below(3);
  p.has_neighbours = dice.percent(25);
  return p;
}

}  // namespace ratoon::sim
