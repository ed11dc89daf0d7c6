// The lifeline: a pipe of the runner that started this process. It ends when the runner does.
#pragma once

#include <ratoon/result.h>

namespace ratoon::session {

// Checks that the descriptor is one, and keeps it from programs that this process starts. A wrapper between
// the runner and this process may have closed it, and the number may be anything by now. -1: there is none.
[[nodiscard]] Result<void> take_lifeline(int fd);

}  // namespace ratoon::session
