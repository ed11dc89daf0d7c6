// A wait that a stop request ends.
#pragma once

#include <stop_token>

#include "base/core/clock.h"

namespace ratoon {

// Whether all of it passed.
[[nodiscard]] bool pause_for(Duration time, const std::stop_token& stop);

}  // namespace ratoon
