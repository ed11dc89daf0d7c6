// The policies of a simulated job, and the reactions of the platform to them. The policies are drawn apart
// from the rest of the scenario, so that the world of an older seed does not change.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/training_job.h"
#include "tests/property/operator/moves.h"

namespace ratoon::sim {

inline constexpr const char* kWorker = "worker";  // sized by numNodes
inline constexpr const char* kHelper = "helper";  // with a number of its own

struct Policies {
  std::uint32_t helpers = 0;
  std::vector<std::string> deciding;  // of the success policy
  std::vector<std::string> failing;   // of the failure policy
  std::vector<api::RestartRule> rules;
  std::uint32_t losses_without_step_max = 10;
  bool gives_losses_max = false;  // the job does; else it is the one where nothing is said
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
  bool rejects_pods = false;         // kubelets do at times, which do not agree with the scheduler
  bool remakes_pods = false;         // the name of a pod that vanished is taken again, as by a late creation
  std::uint64_t save_seconds = 0;    // what a save takes until it is on the disk
  bool has_wall_jumps = false;       // the wall's clock does, as on a machine that slept
  bool has_late_ways = false;        // to an operator that is new, which agents find seconds later
  bool ends_slowly = false;          // copies of the last checkpoint are made before a process is done
  bool cuts_links = false;           // between nodes, while both reach the operator
  // Never drawn (make_nodes_scarce()).
  std::uint64_t places_per_node = 0;        // pods that a node takes; 0: any number
  bool has_fixed_nodes = false;             // no node is added for a pod, even when the faults are over
  std::uint32_t release_after_seconds = 0;  // 0: the job keeps its nodes
};

// The roles of a policy; an empty list means all roles.
inline std::vector<std::string> draw_roles(Moves& moves, std::uint32_t helpers) {
  if (helpers == 0)
    return moves.percent("names-worker", 30) ? std::vector<std::string>{kWorker} : std::vector<std::string>();
  switch (moves.below("roles", 4)) {
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

inline api::RestartRule draw_rule(Moves& moves, std::uint32_t helpers) {
  using api::RuleAction;
  api::RestartRule rule;
  // Most rules fail few jobs: otherwise there would be little left to test.
  rule.action = moves.percent("rule-fails", 15)
                    ? RuleAction::kFail
                    : moves.pick("rule-action", {RuleAction::kRestart, RuleAction::kIgnore});
  if (moves.percent("rule-code", 60))
    rule.exit_codes.push_back(moves.pick("of-code", {1U, 84U, 81U, 82U, 143U}));
  if (moves.percent("rule-signal", 40)) rule.signals.push_back(moves.pick("of-signal", {6U, 9U, 11U}));
  if (moves.percent("rule-reason", 40))
    rule.reasons.emplace_back(moves.pick("of-reason", {"Evicted", "OOMKilled"}));
  if (helpers > 0 && moves.percent("rule-role", 40))
    rule.roles.emplace_back(moves.pick("of-role", {kWorker, kHelper}));
  return rule;
}

inline Policies draw_policies(Moves& moves) {
  Policies p;
  if (moves.percent("helpers", 35))
    p.helpers = static_cast<std::uint32_t>(1 + moves.below("helper-count", 2));
  p.deciding = draw_roles(moves, p.helpers);
  p.failing = draw_roles(moves, p.helpers);
  for (std::uint64_t rules = moves.below("rules", 3); rules > 0; --rules)
    p.rules.push_back(draw_rule(moves, p.helpers));
  if (moves.percent("few-losses", 20))
    p.losses_without_step_max = static_cast<std::uint32_t>(1 + moves.below("losses-max", 4));
  p.gives_losses_max = p.losses_without_step_max != 10 || moves.percent("gives-losses-max", 30);
  p.clean_pods = moves.pick(
      "clean-pods", {api::CleanPodPolicy::kNone, api::CleanPodPolicy::kRunning, api::CleanPodPolicy::kAll});
  if (moves.percent("ttl", 50)) p.ttl_seconds = static_cast<std::uint32_t>(moves.below("ttl-seconds", 60));
  p.grace_seconds = static_cast<std::uint32_t>(moves.below("grace-seconds", 30));
  p.platform_ends_pods = moves.percent("platform-ends-pods", 40);
  p.has_late_watches = moves.percent("late-watches", 40);
  p.tells_avoided_nodes = moves.percent("tells-avoided", 60);
  p.is_resized = moves.percent("resizes", 60);
  p.rests = moves.percent("rests", 25);
  p.deletes_pods = moves.percent("deletes-pods", 30);
  if (moves.percent("places", 50))
    p.more_places = static_cast<std::uint32_t>(1 + moves.below("more-places", 2));
  p.remakes_pods = moves.percent("remakes-pods", 20);
  if (moves.percent("zones", 40)) p.zones = 1 + moves.below("zone-count", 3);
  p.has_neighbours = moves.percent("neighbours", 25);
  p.rejects_pods = moves.percent("rejects-pods", 25);
  p.has_wall_jumps = moves.percent("has-wall-jumps", 10);
  p.has_late_ways = moves.percent("has-late-ways", 40);
  p.ends_slowly = moves.percent("ends-slowly", 40);
  // Most saves are fast, since a world whose saves take long lives long.
  if (moves.percent("saves-slowly", 20))
    p.save_seconds = moves.pick("save-seconds", {1, 1, 30, 30, 30, 70, 70, 600});
  p.cuts_links = moves.percent("cuts-links", 30);
  return p;
}

// Laws of their own have scarce nodes: while faults happen, no node is added. The scheduler says so, as on a
// cluster. These choices are of another stream than the world's.
inline void make_nodes_scarce(std::uint64_t seed, Policies& p) {
  constexpr std::uint64_t kScarce = 0xd1342543de82ef95ULL;
  Dice dice(seed ^ kScarce);
  p.places_per_node = 1 + dice.below(2);
  p.tells_avoided_nodes = true;
  if (dice.percent(20)) return;
  constexpr std::uint32_t kSeconds[] = {2, 5, 10, 20};
  p.release_after_seconds = kSeconds[dice.below(4)];
}

}  // namespace ratoon::sim
