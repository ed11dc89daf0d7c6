// The lifeline: a pipe from the runner, such as `ratoon run`, that started this process. When the runner
// ends, this process reads end-of-file from the pipe.
#pragma once

#include <ratoon/result.h>

namespace ratoon::session {

// Checks that `fd` is a pipe, and sets close-on-exec, so that no child program inherits the pipe. A wrapper
// program may have closed the pipe, and the number of the descriptor may now refer to another file. Does
// nothing if `fd` is -1, which means that there is no pipe.
[[nodiscard]] Result<void> take_lifeline(int fd);

}  // namespace ratoon::session
