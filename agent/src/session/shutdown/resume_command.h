// The command that started this process, as a shell takes it. After a stop by hand the same command continues
// the run.
#pragma once

#include <string>
#include <string_view>

namespace ratoon::session {

// Words as in /proc/<pid>/cmdline, each ended by a zero byte.
[[nodiscard]] std::string shell_command_of(std::string_view words);
// Empty if the system does not provide it.
[[nodiscard]] std::string own_command();

}  // namespace ratoon::session
