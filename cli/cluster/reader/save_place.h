// Finds the place where the members of a cluster's job save their checkpoints, and the volume of the place.
// Pure.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include <ratoon/result.h>

#include "operator/api/training_job.h"

namespace ratoon::cli {

struct SavePlace {
  std::string argument;  // for a container's argument, in which kubelet replaces $(NAME) by the variable NAME
  std::string path;      // the same as plain text: an absolute path or a URL; empty if only kubelet knows it
};

// Returns the text as a container's argument that kubelet does not change.
[[nodiscard]] std::string literal_argument(const std::string& text);

// Returns the place that the members reported or, if none has reported a place yet, the place that the role's
// variables and the job's claim give. `container` is the trainer's container in the template of a role.
// Returns nothing if the place is unknown.
[[nodiscard]] std::optional<SavePlace> find_save_place(const api::TrainingJob& job,
                                                       const nlohmann::json& container);

// Returns whether the files below `path` are on the disk of one node (a hostPath volume). Returns an error if
// no other pod can reach the files, because they are on a volume that ends with the pod, or in the container.
[[nodiscard]] Result<bool> is_on_node(const std::string& path, const api::TrainingJob& job,
                                      const nlohmann::json& pod_spec);

}  // namespace ratoon::cli
