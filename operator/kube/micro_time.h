// Kubernetes' MicroTime format.
#pragma once

#include <string>

#include "base/core/clock.h"

namespace ratoon::kube {

// The server accepts exactly six digits of a second.
[[nodiscard]] std::string format_micros(WallTime time);

}  // namespace ratoon::kube
