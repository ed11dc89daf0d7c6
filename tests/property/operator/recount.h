// A second reading of docs/operations/policies.md, made of tables where the core has rules, and written apart
// from it: what an ending costs, who is done, which pods go at the end. The laws compare the two.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "operator/core/observation.h"

namespace ratoon::sim {

enum class Toll { kFree, kBudget, kHang, kJob };

// A lost member's: what its pod shows and, of one that still ran, what was said of it.
struct Lost {
  std::string name;
  std::string said;
  std::string role;
  const api::Pod* pod = nullptr;  // nullptr: there is none
  bool node_goes = false;         // the node that the pod is on
  bool trains_on = false;         // in a pod that is being deleted and has time left
};

// Of all that are lost in one decision.
struct Bill {
  std::uint32_t free = 0;
  std::uint32_t budget = 0;
  std::uint32_t hung = 0;     // use up the same budget
  std::uint32_t ignored = 0;  // of both
  bool ends_job = false;
};

[[nodiscard]] bool decides(const std::vector<std::string>& roles, const std::string& role);
[[nodiscard]] Bill add_up(const api::TrainingJobSpec& spec, const std::vector<Lost>& lost);

// By the status, the pod's record, or all its processes.
[[nodiscard]] bool is_known_done(const core::Observation& seen, const api::MemberStatus& member);

// UIDs of pods that are deleted when a job ends, or is found to have ended.
[[nodiscard]] std::set<std::string> pods_to_go(const core::Observation& seen,
                                               const api::TrainingJobStatus& status);

}  // namespace ratoon::sim
