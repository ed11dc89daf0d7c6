// The job's own rules about the ends of members: the first rule that matches classifies the end.
#pragma once

#include <cstddef>
#include <optional>

#include "operator/api/pod.h"
#include "operator/api/training_job.h"

namespace ratoon::core {

struct MatchedRule {
  std::size_t number = 0;  // from 0
  api::RuleAction action = api::RuleAction::kRestart;
};

// If the platform ended the pod, only its reasons count: the exit codes of processes are a consequence.
[[nodiscard]] std::optional<MatchedRule> match_restart_rule(const api::RestartPolicy& policy,
                                                            const api::Pod& pod);

}  // namespace ratoon::core
