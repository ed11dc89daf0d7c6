// How long a node still exists after a notice that names no time. Operator and agent use the same times: the
// operator learns of a notice from taints, an agent from signals.
#pragma once

#include <string_view>

#include "base/core/clock.h"

namespace ratoon {

// The default time of a pod between SIGTERM and SIGKILL. Slurm's default KillWait is also 30 s.
inline constexpr Duration kUsualGrace = std::chrono::seconds(30);

// `key` is the taint that gave the notice, or the notice's source: "aws", "gcp", "azure" or any other name.
// Clouds stop a node after a fixed time and ignore its pods' grace periods. Cordons, autoscalers and signals
// leave each pod its grace period.
[[nodiscard]] Duration notice_time_of(std::string_view key, Duration grace);

}  // namespace ratoon
