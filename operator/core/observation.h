// Everything a decision about one job may look at. There is nothing else: no clock, no client, no memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "operator/api/node.h"
#include "operator/api/pod.h"
#include "operator/api/training_job.h"
#include "operator/api/world.h"

namespace ratoon::core {

// What is known so far about a recovery that goes on. See recovery.h.
struct RecoveryWatch {
  std::string member;  // as it was called when it was lost
  std::string role;
  std::uint32_t index = 0;
  std::string node;
  std::string reason;
  bool is_hung = false;  // it lived, and the others waited for it
  WallTime time;
  std::uint64_t lost_steps = 0;
  Timestamp last_sign;               // of life
  Timestamp decided;                 // that it is lost
  std::optional<Timestamp> created;  // its replacement's pod
  std::optional<Timestamp> placed;   // on a node
  std::optional<Timestamp> spoke;    // its first call
  std::optional<Timestamp> met;      // all ranks are in the new world
  std::optional<Timestamp> loaded;   // and have their state
  std::optional<Timestamp> stepped;  // and have made a step

  friend bool operator==(const RecoveryWatch&, const RecoveryWatch&) = default;
};

// The claim that a job's members share, as its owner asked for it.
struct Claim {
  std::vector<std::string> access_modes;

  friend bool operator==(const Claim&, const Claim&) = default;
};

// Positions of what is seen, by the member that it is of. Empty: see lookup.h.
struct Order {
  std::vector<std::uint32_t> processes;
  std::vector<std::uint32_t> seats;
  std::vector<std::uint32_t> pods;
};

struct Observation {
  api::TrainingJob job;
  std::vector<api::Pod> pods;                // all that carry the job's UID
  std::vector<api::ProcessFacts> processes;  // the newest start of each process that spoke to the coordinator
  std::vector<api::Seat> world;              // handed out for status.attempt, if it is formed
  std::vector<api::Node> nodes;              // under these pods, as far as the backend knows any
  WallTime wall_now;                         // for what people read and for what outlives this process
  std::optional<RecoveryWatch> recovery;     // what the last decision gave back
  Timestamp listening_since;     // since when the coordinator hears beats without having stalled itself
  std::optional<Claim> claim{};  // where asks_for_claim() and it exists
  std::string refusal{};  // why the last pods that were asked for were not made: a quota, or a bad template
  std::vector<std::string> held_names{};  // that other pods have: of other jobs, or hanging on their way out
  bool is_template_refused = false;       // it is for the template: no pod at all, whatever room there is
  std::vector<ProcessIdentity> quiet{};   // whose wish to join does not count: see without_joins_of()
  Order order{};
};

// After a change of leader nobody remembers who sits where; the members' own words count.
[[nodiscard]] inline bool is_world_forgotten(const Observation& seen) {
  return seen.job.status.is_formed && seen.world.empty();
}

}  // namespace ratoon::core
