// Builds a child process's arguments and environment in the form that posix_spawn() and exec() take.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace ratoon {

// Returns this process's environment with the variables of `changes` set in it.
[[nodiscard]] std::vector<std::string> environment_with(const std::map<std::string, std::string>& changes);

// Returns pointers to `words` and then a null pointer. The caller must keep `words` alive and unchanged while
// it uses the pointers.
[[nodiscard]] std::vector<char*> pointers_to(std::vector<std::string>& words);

}  // namespace ratoon
