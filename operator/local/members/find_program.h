// Finds a program before it is started, so that a missing program is reported early.
#pragma once

#include <string>

#include <ratoon/result.h>

namespace ratoon::local {

// Searches like posix_spawnp(): a name with a slash is a path, else the first executable file in $PATH
// counts. The error is the same as that of a start.
[[nodiscard]] Result<std::string> find_program(const std::string& name);

// Explains an error number of a start, and where the program was searched. The error is retryable if the
// system lacks resources.
[[nodiscard]] Error cannot_start(const std::string& name, int problem);

}  // namespace ratoon::local
