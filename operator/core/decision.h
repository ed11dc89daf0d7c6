// What is to happen next for one job. The order counts: status is stored first, then actions are done, then
// agents are told. Each part may be repeated, and everything after any point may be lost: the next decision
// mends it.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/core/clock.h"
#include "operator/api/pod.h"
#include "operator/api/training_job.h"
#include "operator/api/world.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Make this pod unless it exists. Its name holds its incarnation, so a second creation finds the first.
struct CreatePod {
  api::Pod pod;
  std::vector<std::string> avoid_nodes;   // it must not be placed on these
  std::vector<std::string> sick_nodes{};  // nor on these, as long as there is room elsewhere

  friend bool operator==(const CreatePod&, const CreatePod&) = default;
};

// Delete exactly this pod, by UID. At once: what it could still save, it saved on notice.
struct DeletePod {
  std::string name;
  std::string uid;
  std::string reason;
  bool has_grace = false;  // but for a program that only its pod's signal tells

  friend bool operator==(const DeletePod&, const DeletePod&) = default;
};

// News for people.
struct EmitEvent {
  bool is_warning = false;
  std::string reason;
  std::string message;

  friend bool operator==(const EmitEvent&, const EmitEvent&) = default;
};

// Delete the job itself, by UID; its pods go with it.
struct DeleteJob {
  std::string uid;

  friend bool operator==(const DeleteJob&, const DeleteJob&) = default;
};

using Action = std::variant<CreatePod, DeletePod, EmitEvent, DeleteJob>;

struct Decision {
  api::TrainingJobStatus status;
  std::vector<Action> actions;
  api::Announcement announcement;
  std::optional<RecoveryWatch> recovery;  // to be shown to the next decision
  std::optional<Timestamp> wake_at;       // decide again by then, even if nothing happens
};

}  // namespace ratoon::core
