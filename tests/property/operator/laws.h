// The laws of the core, which check each decision.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "operator/core/decision.h"
#include "operator/core/observation.h"
#include "tests/property/operator/simulated_world.h"

namespace ratoon::sim {

// The part of a seat that must never differ between two seats of the same attempt.
using SeatKey = std::tuple<std::string, std::uint32_t, std::string, std::string>;
using SeatList = std::vector<SeatKey>;

[[nodiscard]] SeatList keys_of(const std::vector<api::AssignedProcess>& world);
[[nodiscard]] std::string name_of(const api::MemberStatus& member);
// The names of the incarnations whose end this decision reports.
[[nodiscard]] std::set<std::string> lost_in(const core::Decision& decision);
// Worlds that this decision gives up although no member of them is to blame.
[[nodiscard]] std::uint32_t worlds_hung_in(const core::Decision& decision);
// Whether the event tells that a member is replaced which others cannot reach; whether any event does.
[[nodiscard]] bool is_unreachable(const core::EmitEvent& event);
[[nodiscard]] bool is_any_unreachable(const core::Decision& decision);
// The same member in another status, or nullptr.
[[nodiscard]] const api::MemberStatus* find_member(const api::TrainingJobStatus& status,
                                                   const api::MemberStatus& member);

// Counts of events, so that a law about an event is tested at all.
struct Tally {
  std::uint64_t smaller_worlds = 0;
  std::uint64_t larger_worlds = 0;  // decisions about one with more members than were asked for
  std::uint64_t hangs = 0;
  std::uint64_t held = 0;     // decisions while all that a job had in a zone was silent
  std::uint64_t growths = 0;  // worlds that were handed over to a larger one
  std::uint64_t decisions = 0;
  std::uint64_t rests = 0;      // suspended, with no pod left
  std::uint64_t deletions = 0;  // jobs whose time to live was over
  std::uint64_t failures = 0;
  std::uint64_t rejections = 0;    // of pods by kubelets
  std::uint64_t ignored = 0;       // failures of roles that fail no job
  std::uint64_t older_points = 0;  // worlds that went back to before what another one resumed
  std::uint64_t taken_back = 0;    // members that were done with a checkpoint that was lost
  std::uint64_t unreachable = 0;   // members that were replaced because of a cut between nodes
  std::uint64_t releases = 0;      // of nodes, because others were lacking
  std::uint64_t requests = 0;      // of nodes, after a release
  std::uint64_t hurried = 0;       // of those, before the pause was over, because the spec was changed
};

class Laws {
 public:
  Laws(World& world, Tally& tally) : world_(world), tally_(tally) {}

  // Decides once, and checks the decision.
  core::Decision decide();
  // Checks the stored status, even if it could not be reported.
  void note_stored(const core::Decision& decision, const api::TrainingJobStatus& before);
  // Checks the orders for agents, and the cost.
  void check_agents() const;
  // Checks that this decision has no actions and no writes.
  static void check_quiet(const core::Decision& decision, const api::TrainingJobStatus& before);

 private:
  void check_repetition(const core::Observation& seen, core::Decision decision);
  void check_status(const api::TrainingJobStatus& before, const api::TrainingJobStatus& after) const;
  void check_waiting(core::Observation seen) const;
  static void check_ledger(const core::Observation& seen, const api::TrainingJobStatus& after);
  void note_times(const api::TrainingJobStatus& status);
  void forget(api::MemberStatus member);
  void check_checkpoints(const api::TrainingJobStatus& before, const api::TrainingJobStatus& after) const;
  void check_counting(const core::Observation& seen, const core::Decision& decision) const;
  void check_given_up(const core::Observation& seen, const core::Decision& decision) const;
  void check_hung(const core::Observation& seen, const core::Decision& decision) const;
  void check_suspended(const core::Observation& seen, const core::Decision& decision) const;
  void check_pauses(const core::Observation& seen, const core::Decision& decision) const;
  void check_placement(const core::Observation& seen, const core::Decision& decision) const;
  // laws_of_links.cpp
  void check_unreachable(const core::Observation& seen, const core::Decision& decision) const;
  void check_starting(const core::Observation& seen) const;
  void check_slow_starts(const core::Observation& seen, const core::Decision& decision) const;
  void check_silent(const core::Observation& seen, const core::Decision& decision) const;
  void check_departures(const core::Observation& seen, const core::Decision& decision);
  void find_ends(const core::Observation& seen, const core::Decision& decision);
  void check_devices(const core::Observation& seen, const core::Decision& decision) const;
  static void check_avoided(const core::Observation& seen, const core::Decision& decision,
                            const api::NodeToAvoid& node);
  void check_suspects(const core::Observation& seen, const core::Decision& decision) const;
  void check_resume(const core::Observation& seen, const core::Decision& decision);
  void check_current(const core::Decision& decision) const;
  void check_world(const core::Observation& seen, const core::Decision& decision);
  void check_size(const core::Observation& seen, const core::Decision& decision) const;
  void check_account(const core::Decision& decision) const;
  // laws_of_policies.cpp
  void check_bill(const core::Observation& seen, const core::Decision& decision);
  void check_success(const core::Observation& seen, const core::Decision& decision) const;
  void check_sizes(const core::Observation& seen, const core::Decision& decision) const;
  void check_deadlines(const core::Observation& seen, const core::Decision& decision) const;
  void check_duration(const core::Observation& seen, const core::Decision& decision) const;
  // laws_of_releases.cpp
  void check_released(const core::Observation& seen, const core::Decision& decision);
  void check_release(const core::Observation& seen, const core::Decision& decision);
  void check_request(const core::Observation& seen, const core::Decision& decision) const;
  // laws_of_ends.cpp
  void check_end(const core::Observation& seen, const core::Decision& decision) const;
  void check_deletions(const core::Observation& seen, const core::Decision& decision) const;
  void check_rest(const core::Observation& seen, const core::Decision& decision) const;
  void check_told(const core::Observation& seen, const core::Decision& decision) const;
  void check_finishing(const core::Observation& seen, const core::Decision& decision) const;

  World& world_;
  Tally& tally_;
  std::size_t size_ = 0;  // of the last world
  std::map<Attempt, SeatList> worlds_;
  std::set<std::string> counted_;  // incarnations whose end was counted
  Lineage resumed_;
  // The times at which the nodes of members will go, by the members' names and nodes: by the last decision,
  // and by the stored status.
  std::map<std::string, WallTime> ends_found_;
  std::map<std::string, WallTime> ends_told_;
  std::optional<WallTime> ended_at_;
  std::optional<Timestamp> awake_since_;  // by what was stored
  Duration awake_{0};                     // before that
  int rests_ = 0;
  Duration pause_{0};                  // after the last release
  std::uint32_t left_with_nodes_ = 0;  // exits with 0 on nodes that were to go
};

}  // namespace ratoon::sim
