// Parses durations in the form in which people write them.
#pragma once

#include <string_view>

#include <ratoon/result.h>

#include "base/core/clock.h"

namespace ratoon::cli {

// Parses "30s", "0.5s", "1m30s"; the result is above 0.
[[nodiscard]] Result<Duration> parse_duration(std::string_view text);

}  // namespace ratoon::cli
