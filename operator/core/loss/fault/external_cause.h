// Finds phrases in an exception's text which show that its cause may be outside of the program: memory,
// files, connections, servers, devices. A resource outside of the program may work again at the next start.
#pragma once

#include <string_view>

namespace ratoon::core {

// This function is pure. The parameter `fault` contains an exception's type and text. Returns true if in
// doubt, because an external cause only leads to another start after a pause, while a fault of the program
// ends the job.
[[nodiscard]] bool may_have_external_cause(std::string_view fault);

}  // namespace ratoon::core
