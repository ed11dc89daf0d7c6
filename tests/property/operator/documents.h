// The API server's objects of a simulated job, pod or node.
#pragma once

#include <optional>

#include <nlohmann/json.hpp>

#include "operator/api/node.h"
#include "operator/api/pod.h"
#include "operator/api/training_job.h"

namespace ratoon::sim {

[[nodiscard]] nlohmann::json spec_document(const api::TrainingJobSpec& spec);
[[nodiscard]] nlohmann::json job_document(const api::TrainingJob& job);
// The pod as the operator made it, with its later state.
[[nodiscard]] nlohmann::json pod_document(nlohmann::json made, const api::Pod& pod);
// The pod's orders for a program without the agent, by which it meets its group.
[[nodiscard]] std::optional<api::GroupRankAssignment> group_seat_in(const nlohmann::json& pod);
[[nodiscard]] nlohmann::json node_document(const api::Node& node);

}  // namespace ratoon::sim
