// A decision is the next steps for one job, in this order: store the status, carry out actions, send the
// announcement. The operator may repeat any step of a decision. If the operator crashes between two steps,
// the next decision contains the missing steps.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/core/clock.h"
#include "operator/api/node.h"
#include "operator/api/pod.h"
#include "operator/api/training_job.h"
#include "operator/api/world.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Creates this pod unless it exists. The pod's name contains the incarnation, so that a repeated creation
// finds the pod that was created first.
struct CreatePod {
  api::Pod pod;
  std::vector<api::NodeToAvoid> avoid_nodes;  // the pod must not be placed on these
  std::vector<std::string> faulty_nodes{};    // nor on these while other nodes have room
  // Whether the API server must refuse the pod if the role's template has a field that pods do not have.
  bool is_template_checked = false;

  friend bool operator==(const CreatePod&, const CreatePod&) = default;
};

// Deletes exactly this pod, by UID. Without has_grace the pod gets only one second to end, because a member
// saves earlier, when it gets the preemption notice. With has_grace the pod gets the grace period of its
// template.
struct DeletePod {
  std::string name;
  std::string uid;
  std::string reason;
  bool has_grace = false;  // for programs that learn of the end only by a signal, and may still save

  friend bool operator==(const DeletePod&, const DeletePod&) = default;
};

// Emits a message: a Kubernetes event, or in a local run a line for the user.
struct EmitEvent {
  bool is_warning = false;
  std::string reason;
  std::string message;

  friend bool operator==(const EmitEvent&, const EmitEvent&) = default;
};

// Deletes the job itself, by UID; Kubernetes deletes its pods with it.
struct DeleteJob {
  std::string uid;

  friend bool operator==(const DeleteJob&, const DeleteJob&) = default;
};

using Action = std::variant<CreatePod, DeletePod, EmitEvent, DeleteJob>;

struct Decision {
  api::TrainingJobStatus status;
  std::vector<Action> actions;
  api::Announcement announcement;
  std::optional<RecoveryTimestamps> recovery;  // an input of the next decision
  std::optional<Timestamp> wake_at;            // the next decision is due then even if nothing changes
};

// Returns the UIDs of the pods that these actions delete with their grace period.
[[nodiscard]] std::vector<std::string> uids_deleted_with_grace(const std::vector<Action>& actions);

}  // namespace ratoon::core
