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

// Refuses only a pod that is not identified as a member: it has no name, UID or namespace, its labels do not
// name a member, or no TrainingJob owns it (any user may write labels).
[[nodiscard]] Result<MemberPod> decode_pod(const nlohmann::json& pod);

// Returns the name of the trainer's container, from the operator's annotation. Without the annotation the
// trainer is the first container.
[[nodiscard]] std::string trainer_of(const nlohmann::json& pod);

// Returns the UID of the TrainingJob that is this object's controller (owner), or an empty text.
[[nodiscard]] std::string owning_job_uid(const nlohmann::json& object);
[[nodiscard]] std::string owning_job_name(const nlohmann::json& object);

}  // namespace ratoon::kube
