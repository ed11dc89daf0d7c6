// The success policy decides which members must complete so that the job succeeds.
#pragma once

#include <vector>

#include "operator/core/observation.h"

namespace ratoon::core {

// Returns whether all members that decide about the job have completed. If a member has completed, members
// that were not in the last world need not complete, because the members of the last world did their work.
[[nodiscard]] bool has_succeeded(const Observation& seen, const std::vector<api::MemberStatus>& members);

}  // namespace ratoon::core
