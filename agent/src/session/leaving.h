// Leaving: how train() ends where something must not be torn down. A collective that was abandoned still runs
// on a thread of its backend; returning from main() would destroy under it what it works on, or wait for it.
//
//   leave_at_once_if([] { return !graveyard().is_empty(); });  // once, before the first collective
#pragma once

#include <functional>
#include <string_view>

#include <ratoon/options.h>

namespace ratoon::session {

// From any thread. `holds` is asked on the training thread, when all else has been done; it must not throw.
void leave_at_once_if(std::function<bool()> holds);

// Prints the help and is true, where that is all that is wanted. Throws Failure where options are none.
[[nodiscard]] bool is_only_asked_for_help(const Result<Options>& options);

// Where an exception is caught: prints why the process ends, and returns its exit code. What is neither a
// Failure nor of Ratoon was thrown by `whose`.
[[nodiscard]] int say_why(std::string_view whose);

// The last call of train(): `code` where the process may end as it likes. Else as leave_now().
[[nodiscard]] int leave(int code);

// Flushes standard output and ends the process; nothing is torn down.
[[noreturn]] void leave_now(int code);

}  // namespace ratoon::session
