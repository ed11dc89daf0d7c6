// Which start of the machine this is.
#pragma once

#include <optional>
#include <string>

namespace ratoon {

// Another text after each start of the machine; nothing where the machine does not say.
[[nodiscard]] std::optional<std::string> boot_id();

}  // namespace ratoon
