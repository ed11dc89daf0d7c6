// Returns the command that started this process, quoted for a shell. The command is printed when a user stops
// a run, because the same command continues the run.
#pragma once

#include <string>
#include <string_view>

namespace ratoon::session {

// Converts the words of /proc/<pid>/cmdline, in which each word ends with a zero byte, to a shell command.
[[nodiscard]] std::string shell_command_of(std::string_view words);
// Returns the command line of this process; empty if the operating system does not provide it.
[[nodiscard]] std::string own_command();

}  // namespace ratoon::session
