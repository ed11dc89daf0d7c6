// How long a node keeps running after a preemption notice that gives no time. Operator and agent use the same
// times: the operator learns of a notice from the node's taints, and an agent from signals.
#pragma once

#include <string_view>

#include "base/core/clock.h"

namespace ratoon {

// The default time that a pod has between SIGTERM and SIGKILL. Slurm's default KillWait is also 30 s.
inline constexpr Duration kUsualGrace = std::chrono::seconds(30);

// `key` is the key of the taint that announced the preemption, or its source: "aws", "gcp", "azure" or
// another name. Clouds stop a preempted node after a fixed time and ignore its pods' grace periods. After a
// cordon, a scale-down or a signal, each pod still gets its grace period.
[[nodiscard]] Duration notice_time_of(std::string_view key, Duration grace);

}  // namespace ratoon
