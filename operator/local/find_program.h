// Where the system finds a program, before it is too late to say that there is none.
#pragma once

#include <string>

#include <ratoon/result.h>

namespace ratoon::local {

// As posix_spawnp() would: the name where it has a folder in it, else the first such file of $PATH that may
// be run. The error is the one that starting it would give.
[[nodiscard]] Result<std::string> find_program(const std::string& name);

// Why a program was not started, by the system's number for it, and where it was looked for. Retryable where
// the system is short of something.
[[nodiscard]] Error cannot_start(const std::string& name, int problem);

}  // namespace ratoon::local
