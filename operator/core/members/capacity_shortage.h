// Finds out whether the next world lacks nodes: no node has room for some of its members, or a quota refuses
// the pods of these members. An elastic job lacks nodes only if fewer than minReplicas members have a node,
// since minReplicas members are enough for a world.
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

// The parameter `members` contains the members that the decision under way gives to the job.
[[nodiscard]] CapacityShortage find_capacity_shortage(const Observation& seen,
                                                      const std::vector<api::MemberStatus>& members);

}  // namespace ratoon::core
