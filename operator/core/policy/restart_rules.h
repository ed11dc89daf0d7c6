// Applies the job's own rules about how its members' ends count: the first rule that matches decides.
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

// If Kubernetes ended the pod, only rules about reasons match, because the exit code then only follows from
// that end.
[[nodiscard]] std::optional<MatchedRule> match_restart_rule(const api::RestartPolicy& policy,
                                                            const api::Pod& pod);

}  // namespace ratoon::core
