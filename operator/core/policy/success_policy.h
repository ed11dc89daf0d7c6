// Success policy: which members have to complete for the job to succeed.
#pragma once

#include <vector>

#include "operator/core/observation.h"

namespace ratoon::core {

// Whether all deciding members have completed. If a member has completed, members that were not in the last
// world need not complete: the members of that world did their work.
[[nodiscard]] bool has_succeeded(const Observation& seen, const std::vector<api::MemberStatus>& members);

}  // namespace ratoon::core
