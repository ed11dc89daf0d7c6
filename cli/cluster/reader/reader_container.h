// Makes the container that reads the checkpoints of a cluster's job: it runs `ratoon`, and reaches the same
// volumes and object stores as the trainer's container. Pure.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "operator/api/training_job.h"

namespace ratoon::cli {

inline constexpr const char* kReaderContainer = "reader";

// Returns the volumes of the template that the reader mounts: those of the trainer's container that outlive a
// pod, and the job's claim.
[[nodiscard]] nlohmann::json reader_volumes(const api::TrainingJob& job, const nlohmann::json& pod_spec);

// `words` are the arguments of `ratoon`, in which kubelet replaces $(NAME).
[[nodiscard]] nlohmann::json make_reader_container(const api::TrainingJob& job, const std::string& role,
                                                   const nlohmann::json& pod_spec, const std::string& image,
                                                   const std::vector<std::string>& words);

}  // namespace ratoon::cli
