// The lifeline is a pipe to the runner that started this process. When the runner ends, this process reads
// end-of-file from the pipe.
#pragma once

#include <ratoon/result.h>

namespace ratoon::session {

// Checks that `fd` is a pipe, and lets no program that this process starts inherit the pipe. A wrapper
// between the runner and this process may have closed the pipe, and the number may now refer to another file.
// If `fd` is -1, there is no pipe.
[[nodiscard]] Result<void> take_lifeline(int fd);

}  // namespace ratoon::session
