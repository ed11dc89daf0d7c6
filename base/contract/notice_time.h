// The time for which a node still exists after a notice that names no time. Operator and agent share these
// times: the operator reads taints, an agent signals.
#pragma once

#include <string_view>

#include "base/core/clock.h"

namespace ratoon {

// The default time of a pod between SIGTERM and SIGKILL. Slurm's KillWait is the same.
inline constexpr Duration kUsualGrace = std::chrono::seconds(30);

// `key` is the taint of the notice, or "aws", "gcp", "azure", or any other name of its source. Clouds end a
// node after a fixed time, regardless of its pods' grace periods; cordons, autoscalers and signals leave each
// pod its grace period.
[[nodiscard]] Duration notice_time_of(std::string_view key, Duration grace);

}  // namespace ratoon
