// Ends the process without destructors if some objects must not be destroyed. For example, an unfinished
// collective still runs on a thread of its library. A return from main() would destroy data that the
// collective uses, or would wait for the collective.
//
//   skip_teardown_if([] { return release_finished() != 0; });  // once, before the first collective
#pragma once

#include <functional>

#include "base/contract/exit_code.h"

namespace ratoon::session {

// Registers a function: the process skips destructors at its end if `holds` returns true. Any thread may call
// skip_teardown_if(). The training thread calls `holds` after all other work. `holds` must not throw.
void skip_teardown_if(std::function<bool()> holds);

// train() calls leave() as its last action. Returns `code` if the process may end with destructors; if not,
// ends the process like exit_now().
[[nodiscard]] int leave(int code);

// Flushes standard output and ends the process without destructors.
[[noreturn]] void exit_now(int code);

// Sets the function with which a Session without train() ends the process. By default, the session calls
// exit_now(). A program in another language that embeds Ratoon, such as Python, should end by the means of
// its language, so that its exit handlers run. `end` may throw an exception that contains the exit code. If
// `must_skip_teardown` is true, `end` must end the process without destructors. If `end` returns, exit_now()
// ends the process. Call set_end_in_place() once, before the first session.
void set_end_in_place(std::function<void(int code, bool must_skip_teardown)> end);
[[noreturn]] void end_in_place(int code);

// Ends the process although a thread is stuck. Calls `say` on another thread and waits at most a second for
// it, because standard error may block: it may be a pipe without a reader, or locked by the stuck thread.
// Nothing is flushed.
[[noreturn]] void leave_with_last_line(ExitCode code, std::function<void()> say);

}  // namespace ratoon::session
