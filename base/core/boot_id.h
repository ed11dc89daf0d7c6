// Identifies the current boot of the machine.
#pragma once

#include <optional>
#include <string>

namespace ratoon {

// A different text after each boot; nothing if the machine does not provide one.
[[nodiscard]] std::optional<std::string> boot_id();

}  // namespace ratoon
