// A member's pod, reduced to the facts that decisions need. A local run has no pods: in a local run, each Pod
// describes the process group of a member.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/contract/messages.h"
#include "base/core/clock.h"

namespace ratoon::api {

enum class PodPhase { kPending, kRunning, kSucceeded, kFailed };

// The field `agent` of the role for which the pod was made. A user may have changed the role since then.
enum class PodAgent { kUnknown, kRatoon, kLauncher, kNone };

// The ranks, and the address of rank 0, that a pod without the agent gets in its environment at its start.
struct GroupRankAssignment {
  std::string master_address;  // of the pod with rank 0; empty: this pod has rank 0
  std::string master_uid;      // UID of the pod with rank 0
  std::uint32_t first_rank = 0;
  std::uint32_t world_size = 0;

  friend bool operator==(const GroupRankAssignment&, const GroupRankAssignment&) = default;
};

struct Pod {
  std::string name;
  std::string uid;
  std::string role;
  std::uint32_t index = 0;
  std::uint32_t incarnation = 0;
  std::string node;                     // empty: not placed
  std::string address;                  // in the pod network; empty: none yet
  PodPhase phase = PodPhase::kPending;  // of the trainer's container, if its state differs from the pod's
  std::optional<int>
      exit_code;  // of the trainer's container, or of failed_init_container; 128 + n after signal n
  std::string failed_init_container{};  // the init container that failed, so that the trainer's never ran
  std::string
      kubelet_rejection{};  // the kubelet's reason for not starting the pod; none of its containers ran
  bool has_running_sidecars =
      false;  // the trainer's container ended, and other containers keep the node occupied
  bool is_deleting = false;
  std::optional<WallTime> ends_at{};  // with is_deleting: when the granted grace period ends
  bool is_completed = false;          // the trainer left a completion record
  std::string weights{};              // the weights file that the completion record names
  std::string finish_reason{};        // of the completion record, if the program ended the run early
  bool is_evicted = false;  // the platform says that it ended the pod; the program did not end by itself
  std::vector<std::string> end_reasons;    // the platform's reasons for the end: Evicted, OOMKilled
  std::vector<std::string> avoided_nodes;  // the nodes that its affinity excludes
  std::string unplaced_reason;             // the scheduler's message while no node takes the pod
  std::string scheduler;                   // the name of the scheduler that has to place it
  // Set until the first container of the pod starts: the time since which the pod has waited. A pod without a
  // node waits for a node, and a pod with a node waits for kubelet.
  std::optional<WallTime> pending_since;
  std::optional<WallTime> placed_at{};  // when the scheduler gave the pod its node, if the platform says
  std::string unstarted_reason;         // the kubelet's message while one of its containers does not start
  std::optional<WallTime> ended_at;     // when the trainer's container ended, if the platform says
  std::string last_lines;               // the last output of the program before it failed
  std::optional<GroupRankAssignment> group_rank_assignment{};  // of a pod that is to be created
  std::string rank0_pod_uid{};  // UID of the pod with rank 0 whose address this pod received at its start
  PodAgent agent = PodAgent::kUnknown;

  // The run's last checkpoint according to the completion record, if is_completed is true.
  std::optional<ResumePoint> last_checkpoint{};

  [[nodiscard]] bool has_ended() const { return phase == PodPhase::kSucceeded || phase == PodPhase::kFailed; }

  friend bool operator==(const Pod&, const Pod&) = default;
};

}  // namespace ratoon::api
