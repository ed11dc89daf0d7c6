// Words of an exception by which another thing than the program may be its cause: memory, files, connections,
// servers, devices. All of these may be well again at the next start.
#pragma once

#include <string_view>

namespace ratoon::core {

// Pure. Of an exception's type and text. Rather once too often than not: what is taken for outside is tried
// again with pauses, and what is taken for the program's own ends the job.
[[nodiscard]] bool may_be_from_outside(std::string_view fault);

}  // namespace ratoon::core
