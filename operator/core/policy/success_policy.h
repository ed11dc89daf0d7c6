// Success policy: which members have to complete for the job to succeed.
#pragma once

#include <vector>

#include "operator/core/observation.h"

namespace ratoon::core {

// Whether all deciding members have completed. Members that the last world was formed without need not
// complete if another one has: the others did their work.
[[nodiscard]] bool has_succeeded(const Observation& seen, const std::vector<api::MemberStatus>& members);

}  // namespace ratoon::core
