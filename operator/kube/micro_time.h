// Kubernetes' MicroTime format.
#pragma once

#include <string>

#include "base/core/clock.h"

namespace ratoon::kube {

// The API server accepts a MicroTime only with exactly six digits after the second.
[[nodiscard]] std::string format_micro_time(WallTime time);

}  // namespace ratoon::kube
