// How train() ends if some objects must not be torn down. An abandoned collective still runs on a thread of
// its backend. A return from main() would destroy the data that the collective uses, or wait for the
// collective.
//
//   skip_teardown_if([] { return release_finished() != 0; });  // once, before the first collective
#pragma once

#include <functional>

#include "base/contract/exit_code.h"

namespace ratoon::session {

// May be called from any thread. `holds` is called on the training thread, after all other work; it must not
// throw.
void skip_teardown_if(std::function<bool()> holds);

// The last call of train(). Returns `code` if the process may end normally; otherwise acts as exit_now().
[[nodiscard]] int leave(int code);

// Flushes standard output and ends the process without tearing anything down.
[[noreturn]] void exit_now(int code);

// The way in which a session in place ends the process. By default the session calls exit_now(). A language
// that embeds Ratoon ends its program by its own means, which also run the handlers of that language: `end`
// may throw an exception that carries the code. `must_skip_teardown` says that the process has to end at
// once; if `end` returns, exit_now() ends it.
// Call this function once, before the first session.
void set_end_in_place(std::function<void(int code, bool must_skip_teardown)> end);
[[noreturn]] void end_in_place(int code);

// Ends the process if one of its threads is stuck. `say` is called on another thread and has a second:
// standard error may be a pipe that nothing reads, or be locked by the stuck thread. Nothing is flushed.
[[noreturn]] void leave_with_last_line(ExitCode code, std::function<void()> say);

}  // namespace ratoon::session
