// Applies the rules in restartPolicy.rules, which say how ends of members count. The first match decides.
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

// If Kubernetes ended the pod, only rules about reasons match: Kubernetes caused the exit code, which
// therefore says nothing about the program.
[[nodiscard]] std::optional<MatchedRule> match_restart_rule(const api::RestartPolicy& policy,
                                                            const api::Pod& pod);

}  // namespace ratoon::core
