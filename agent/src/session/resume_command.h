// The command that started this process, as a shell takes it: who stopped it by hand types it again to go on.
#pragma once

#include <string>
#include <string_view>

namespace ratoon::session {

// Words as they stand in /proc/<pid>/cmdline, each ended by a zero byte.
[[nodiscard]] std::string shell_command_of(std::string_view words);
// Empty where the system does not say.
[[nodiscard]] std::string own_command();

}  // namespace ratoon::session
