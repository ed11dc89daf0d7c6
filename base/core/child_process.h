// The arguments and the environment of a child, as posix_spawn() and exec() take them.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace ratoon {

// This process's environment with these variables set.
[[nodiscard]] std::vector<std::string> environment_with(const std::map<std::string, std::string>& changes);

// Ends with a null pointer. `words` must outlive the result and must not change during that time.
[[nodiscard]] std::vector<char*> pointers_to(std::vector<std::string>& words);

}  // namespace ratoon
