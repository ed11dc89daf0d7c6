// Identifies the current boot of the machine.
#pragma once

#include <optional>
#include <string>

namespace ratoon {

// Returns a text that differs after each boot, or nothing if the machine has no boot id.
[[nodiscard]] std::optional<std::string> boot_id();

}  // namespace ratoon
