// Success policy: who has to reach the end for the job to be done.
#pragma once

#include <vector>

#include "operator/core/observation.h"

namespace ratoon::core {

// Whether every member that decides has completed. Members that the last world was formed without are not
// waited for: what they were to do, the others did, if there is one.
[[nodiscard]] bool has_succeeded(const Observation& seen, const std::vector<api::MemberStatus>& members);

}  // namespace ratoon::core
