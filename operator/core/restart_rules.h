// The job's own rules about endings: the first that is met says what an ending is taken for.
#pragma once

#include <cstddef>
#include <optional>

#include "operator/api/pod.h"
#include "operator/api/training_job.h"

namespace ratoon::core {

struct MetRule {
  std::size_t number = 0;  // from 0
  api::RuleAction action = api::RuleAction::kRestart;
};

// Of a pod that the platform ended, only its words count: what its processes exit with is a consequence.
[[nodiscard]] std::optional<MetRule> find_rule(const api::RestartPolicy& policy, const api::Pod& pod);

}  // namespace ratoon::core
