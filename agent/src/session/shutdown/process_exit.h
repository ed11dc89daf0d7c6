// Ends the process without destructors if some objects must not be destroyed. For example, an unfinished
// collective may still run on a thread of its library. A return from main() would then destroy data that the
// collective uses, or would wait for the collective.
//
//   skip_teardown_if([] { return release_done_collectives() != 0; });  // once, before the first collective
#pragma once

#include <functional>

#include "base/contract/exit_code.h"

namespace ratoon::session {

// If the function `holds` returns true, the process ends without destructors. Any thread may call
// skip_teardown_if(). The training thread calls `holds` after all its other work. `holds` must not throw.
void skip_teardown_if(std::function<bool()> holds);

// train() calls leave() as its last action. Returns `code` if the process may end with destructors; if not,
// ends the process like exit_now(), or lets a program in another language end without destructors.
[[nodiscard]] int leave(int code);

// Flushes standard output and ends the process without destructors.
[[noreturn]] void exit_now(int code);

// Sets the function with which a Session without train() ends the process. By default, such a Session calls
// exit_now(). A program in another language, such as Python, should end with the exit function of its
// language, so that its exit handlers run. The function `end` may throw an exception that contains the exit
// code. If `must_skip_teardown` is true, `end` must end the process without destructors. If the function
// `end` returns, exit_now() ends the process. Call set_end_handler() once, before the first session.
void set_end_handler(std::function<void(int code, bool must_skip_teardown)> end);
[[noreturn]] void end_in_place(int code);
// Returns whether end_in_place() lets the program end with its destructors.
[[nodiscard]] bool can_end_with_destructors();
// Sets the function with which leave() lets a program in another language go on to its own end, and then end
// without the destructors of C++. Such a program has more to do after its training, such as its exit
// handlers. Call set_skip_teardown_at_exit() once, before the first session.
void set_skip_teardown_at_exit(std::function<void()> skip);

// Ends the process although a thread is stuck. Calls the function `say` on another thread and waits at most a
// second for `say`. `say` may hang, because standard error may be a pipe without a reader, or the stuck
// thread may have locked standard error. exit_after_log_line() flushes no stream.
[[noreturn]] void exit_after_log_line(ExitCode code, std::function<void()> say);

}  // namespace ratoon::session
