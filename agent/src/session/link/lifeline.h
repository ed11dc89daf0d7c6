// The lifeline: a pipe whose other end the runner that started this process holds. The pipe reads end-of-file
// when the runner ends.
#pragma once

#include <ratoon/result.h>

namespace ratoon::session {

// Checks that the descriptor is a pipe, and keeps programs that this process starts from inheriting it. A
// wrapper between the runner and this process may have closed the pipe, and the number may now refer to
// another file. -1: there is no pipe.
[[nodiscard]] Result<void> take_lifeline(int fd);

}  // namespace ratoon::session
