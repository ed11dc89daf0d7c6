// Phrases of an exception that show that its cause may be outside of the program: memory, files, connections,
// servers, devices. The resource may work again at the next start.
#pragma once

#include <string_view>

namespace ratoon::core {

// Pure. Takes an exception's type and text. In doubt the result is true: an external cause means another
// start after a pause, and a cause in the program ends the job.
[[nodiscard]] bool may_have_external_cause(std::string_view fault);

}  // namespace ratoon::core
