// What posix_spawn() and exec() take of a child: its words and its environment.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace ratoon {

// This process's environment with these variables set.
[[nodiscard]] std::vector<std::string> environment_with(const std::map<std::string, std::string>& changes);

// Ends with a null pointer. The words outlive it and are not changed meanwhile.
[[nodiscard]] std::vector<char*> pointers_to(std::vector<std::string>& words);

}  // namespace ratoon
