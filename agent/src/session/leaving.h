// Leaving: how train() ends where something must not be torn down. A collective that was abandoned still runs
// on a thread of its backend; returning from main() would destroy under it what it works on, or wait for it.
//
//   leave_at_once_if([] { return !graveyard().is_empty(); });  // once, before the first collective
#pragma once

#include <functional>

#include "base/contract/exit_code.h"

namespace ratoon::session {

// From any thread. `holds` is asked on the training thread, when all else has been done; it must not throw.
void leave_at_once_if(std::function<bool()> holds);

// The last call of train(): `code` where the process may end as it likes. Else as leave_now().
[[nodiscard]] int leave(int code);

// Flushes standard output and ends the process; nothing is torn down.
[[noreturn]] void leave_now(int code);

// Ends the process where one of its threads is stuck: `say` is called beside this thread and has a second, as
// standard error may be a pipe that nothing reads, or be locked by the thread that is stuck. Nothing is
// flushed.
[[noreturn]] void leave_saying(ExitCode code, std::function<void()> say);

}  // namespace ratoon::session
