// Finds out whether the next world lacks nodes: no node takes some of its members, or a quota refuses their
// pods. An elastic job lacks nodes only if fewer than minReplicas members have one, since it forms a world
// with fewer members by itself.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "operator/core/observation.h"

namespace ratoon::core {

struct CapacityShortage {
  // A text for people: why the next world lacks a member. Empty if no member is lacking, or if neither the
  // scheduler nor the API server gave a reason.
  std::string reason{};
  bool is_over = false;                // every member that the next world needs has a node
  std::size_t members_with_nodes = 0;  // members of the job that have a node
};

// `members` are the job's members of this decision.
[[nodiscard]] CapacityShortage find_capacity_shortage(const Observation& seen,
                                                      const std::vector<api::MemberStatus>& members);

}  // namespace ratoon::core
