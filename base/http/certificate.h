// What is read of a certificate before it is shown to anybody.
#pragma once

#include <optional>
#include <string>

#include "base/core/clock.h"

namespace ratoon::http {

// When the first certificate in `pem` ends; nothing where none can be read.
[[nodiscard]] std::optional<WallTime> certificate_end(const std::string& pem);

}  // namespace ratoon::http
