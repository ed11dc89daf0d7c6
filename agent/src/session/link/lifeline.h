// The lifeline: a pipe of the runner that started this process. It ends when the runner does.
#pragma once

#include <ratoon/result.h>

namespace ratoon::session {

// Checks that the descriptor is a pipe, and keeps programs that this process starts from inheriting it. A
// wrapper between the runner and this process may have closed it, and the number may refer to anything by
// now. -1: there is none.
[[nodiscard]] Result<void> take_lifeline(int fd);

}  // namespace ratoon::session
