// Reads a member's Pod object, in which any field may be missing, invalid or of another type.
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

// Refuses only a pod that it cannot identify as a member: a pod without name, UID or namespace, without
// labels that name a member, or without a TrainingJob as its owner (any user may write labels).
[[nodiscard]] Result<MemberPod> decode_pod(const nlohmann::json& pod);

// Returns the name of the trainer's container, from the operator's annotation. In a pod without the
// annotation, the trainer is the first container.
[[nodiscard]] std::string trainer_container_name(const nlohmann::json& pod);

// Returns the UID of the TrainingJob that is this object's controller (owner), or an empty text.
[[nodiscard]] std::string owning_job_uid(const nlohmann::json& object);
[[nodiscard]] std::string owning_job_name(const nlohmann::json& object);

}  // namespace ratoon::kube
