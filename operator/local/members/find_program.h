// Finds a member's program before its start, so that a missing program is reported early.
#pragma once

#include <string>

#include <ratoon/result.h>

namespace ratoon::local {

// The folders in which the system searches if there is no $PATH.
inline constexpr const char* kDefaultSearchPath = "/bin:/usr/bin";

// Searches like posix_spawnp(): a name with a slash is a path; otherwise the first executable file in $PATH
// counts. If there is no such program, returns the same error as a start of the program.
[[nodiscard]] Result<std::string> find_program(const std::string& name);

// Explains the errno of a failed start, and says where the program was searched. The error is retryable if
// the system lacks resources.
[[nodiscard]] Error start_error(const std::string& name, int problem);

}  // namespace ratoon::local
