// How long a node still has after news that names no time. Shared: the operator reads taints, an agent
// signals.
#pragma once

#include <string_view>

#include "base/core/clock.h"

namespace ratoon {

// What a pod has between SIGTERM and SIGKILL where nobody says otherwise; Slurm's KillWait is the same.
inline constexpr Duration kUsualGrace = std::chrono::seconds(30);

// `key` is the taint that brought the news, or "aws", "gcp", "azure", or any other word for its source.
// Clouds end a node after a time of their own, whatever its pods ask for; cordons, autoscalers and signals
// leave each pod its grace period.
[[nodiscard]] Duration notice_time_of(std::string_view key, Duration grace);

}  // namespace ratoon
