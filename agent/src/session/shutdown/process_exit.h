// Ends train() without destructors if some objects must not be destroyed. A collective that was abandoned
// still runs on a thread of its backend. A return from main() would destroy the data that an abandoned
// collective uses, or wait for the collective.
//
//   skip_teardown_if([] { return release_finished() != 0; });  // once, before the first collective
#pragma once

#include <functional>

#include "base/contract/exit_code.h"

namespace ratoon::session {

// The process skips destructors at its end if `holds` returns true. Any thread may call skip_teardown_if().
// The training thread calls `holds`, after all other work; it must not throw.
void skip_teardown_if(std::function<bool()> holds);

// train() calls leave() last. Returns `code` if the process may end normally; if not, acts as exit_now().
[[nodiscard]] int leave(int code);

// Flushes standard output and ends the process without destructors.
[[noreturn]] void exit_now(int code);

// Sets how a session in place ends the process. By default the session calls exit_now(). Programs in a
// language that embeds Ratoon end by the means of that language, which also run its exit handlers.
// `end` may throw an exception that carries the code. `must_skip_teardown` says that the process has to
// end at once; if `end` returns, exit_now() ends it. Call set_end_in_place() once, before the first
// session.
void set_end_in_place(std::function<void(int code, bool must_skip_teardown)> end);
[[noreturn]] void end_in_place(int code);

// Ends the process if a thread is stuck. Calls `say` on another thread and waits for at most a second,
// because standard error may be a pipe without a reader, or locked by the stuck thread. Nothing is flushed.
[[noreturn]] void leave_with_last_line(ExitCode code, std::function<void()> say);

}  // namespace ratoon::session
