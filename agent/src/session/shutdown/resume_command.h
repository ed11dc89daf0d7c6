// Returns the command that started this process, in a form that a shell accepts. After a user stopped a run,
// the same command continues it.
#pragma once

#include <string>
#include <string_view>

namespace ratoon::session {

// Parses words in the form of /proc/<pid>/cmdline, where each word ends with a zero byte.
[[nodiscard]] std::string shell_command_of(std::string_view words);
// Returns the command of this process; empty if the system does not provide it.
[[nodiscard]] std::string own_command();

}  // namespace ratoon::session
