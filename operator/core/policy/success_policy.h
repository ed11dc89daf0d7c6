// The success policy of a job decides which members must complete before the job counts as succeeded.
#pragma once

#include <vector>

#include "operator/core/observation.h"

namespace ratoon::core {

// Returns whether all members that decide about the job have completed. If a member has completed, members
// that were not in the last world need not complete, because that world finished the training.
[[nodiscard]] bool has_succeeded(const Observation& seen, const std::vector<api::MemberStatus>& members);

}  // namespace ratoon::core
