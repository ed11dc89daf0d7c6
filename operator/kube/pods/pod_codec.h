// Reads a member's pod. Any field may be missing, of another type or invalid.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

#include "operator/api/pod.h"

namespace ratoon::kube {

struct MemberPod {
  api::Pod pod;
  std::string name_space;
  std::string job_name;
  std::string job_uid;
  std::string resource_version;
};

// Refuses only a pod that cannot be identified as a member: without name, UID or namespace, with labels that
// do not name a member, or without a TrainingJob as its owner, since any user may write labels.
[[nodiscard]] Result<MemberPod> decode_pod(const nlohmann::json& pod);

// Returns the name of the trainer's container: the annotation of the operator names it. Without the
// annotation the trainer is the first container.
[[nodiscard]] std::string trainer_of(const nlohmann::json& pod);

// Returns the TrainingJob that owns this object as its controller; empty if there is none.
[[nodiscard]] std::string owning_job_uid(const nlohmann::json& object);
[[nodiscard]] std::string owning_job_name(const nlohmann::json& object);

}  // namespace ratoon::kube
