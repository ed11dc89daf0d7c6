// The server's MicroTime.
#pragma once

#include <string>

#include "base/core/clock.h"

namespace ratoon::kube {

// It takes six digits of a second and no other number of them.
[[nodiscard]] std::string format_micros(WallTime time);

}  // namespace ratoon::kube
