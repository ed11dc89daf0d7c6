// Reads what the server says of a member's pod. Any field may be missing, of another kind or absurd.
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

// Refuses only what cannot be told apart from other pods: no name, UID or namespace, or labels that do not
// say which member it is, or no TrainingJob that owns it: labels alone anybody may write.
[[nodiscard]] Result<MemberPod> decode_pod(const nlohmann::json& pod);

// Of the TrainingJob that owns this object as its controller, or empty.
[[nodiscard]] std::string owning_job_uid(const nlohmann::json& object);
[[nodiscard]] std::string owning_job_name(const nlohmann::json& object);

}  // namespace ratoon::kube
