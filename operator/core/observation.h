// Observation: the complete input of a decision about one job. A decision depends only on its input: it reads
// no clock, makes no call and keeps no state.
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
#include "operator/core/members/notice_rules.h"

namespace ratoon::core {

// When the phases of the recovery in progress ended; status.open_recovery has other facts about the recovery.
// See recovery.h.
struct RecoveryTimestamps {
  Timestamp last_message_at;                  // of the last message of the lost member
  Timestamp judged_lost_at;                   // when the member was judged lost
  std::optional<Timestamp> pod_created_at;    // when its replacement's pod existed
  std::optional<Timestamp> pod_placed_at;     // when that pod had a node
  std::optional<Timestamp> first_message_at;  // when its replacement sent the first message
  std::optional<Timestamp> world_joined_at;   // when all ranks were in the new world
  std::optional<Timestamp> state_loaded_at;   // when all ranks had their state
  std::optional<Timestamp> first_step_at;     // when all ranks had made a step

  friend bool operator==(const RecoveryTimestamps&, const RecoveryTimestamps&) = default;
};

// The PersistentVolumeClaim that a job's members share, as its owner requested it.
struct VolumeClaim {
  std::vector<std::string> access_modes;

  friend bool operator==(const VolumeClaim&, const VolumeClaim&) = default;
};

// Indexes of an Observation's items, sorted by member; the indexes may be empty. See observation_index.h.
struct ObservationIndex {
  std::vector<std::uint32_t> processes;
  std::vector<std::uint32_t> seats;
  std::vector<std::uint32_t> pods;
};

struct Observation {
  api::TrainingJob job;
  std::vector<api::Pod> pods;                // all pods with the job's UID
  std::vector<api::ProcessFacts> processes;  // the newest start of each process that sent a message
  std::vector<api::AssignedProcess> world;   // the world of status.attempt, if it is formed
  std::vector<api::Node> nodes;              // the nodes of these pods, if the backend knows them
  WallTime wall_now;                         // for texts, and for times that outlive this process
  // The RecoveryTimestamps of the last decision; absent if another operator process made that decision.
  std::optional<RecoveryTimestamps> recovery;
  std::optional<Timestamp> checkpoint_lists_valid_from{};  // announced by the last decision
  // The uids_deleted_with_grace() of the last decision. A deletion may have to be repeated when the
  // coordinator no longer hears the pod's processes.
  std::vector<std::string> pod_uids_with_grace{};
  Timestamp listening_since;                  // since when the coordinator has received heartbeats without a
                                              // stall
  std::optional<VolumeClaim> volume_claim{};  // if needs_volume_claim() and the claim exists
  std::string refusal{};  // why the last requested pods were not created: a quota, or a bad template
  // Pod names that cannot be used: they belong to pods of other jobs or to pods stuck in deletion.
  std::vector<std::string> unusable_pod_names{};
  bool is_template_refused = false;  // `refusal` is about the template: no pod can be created
  std::string operator_image{};      // of the operator that decides; empty: unknown
  // Processes that are silent, so that their join request does not count (without_join_requests_of()).
  std::vector<ProcessIdentity> quiet_processes{};
  // The operator's rules about notices, which outlive the Observation; never null.
  const NoticeRules* notice_rules = &built_in_notice_rules();
  ObservationIndex index{};
};

// Returns whether a world trains but this operator does not know the world's assignments, because the leader
// changed.
[[nodiscard]] inline bool is_world_unknown(const Observation& seen) {
  return seen.job.status.is_world_formed && seen.world.empty();
}

}  // namespace ratoon::core
