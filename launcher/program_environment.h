// Makes the environment and the command line of a program that knows nothing of Ratoon: the variables that
// PyTorch reads, and none of the variables by which the launcher reaches its coordinator.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "base/contract/messages.h"

namespace ratoon::launcher {

// Returns RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT of the assignment, or an error if the address of rank
// 0 has no port.
[[nodiscard]] Result<std::map<std::string, std::string>> place_variables(const Assignment& assignment);

// Replaces $(RANK), $(WORLD_SIZE), $(MASTER_ADDR) and $(MASTER_PORT) in a word of the command. Kubernetes,
// which does not know these variables of a launched program, leaves such references as they are.
[[nodiscard]] std::string expand_place(std::string_view word,
                                       const std::map<std::string, std::string>& place);

// Returns the environment of the program: `inherited` ("NAME=value") without the launcher's own variables,
// and with `changes`.
[[nodiscard]] std::vector<std::string> program_environment(const std::vector<std::string>& inherited,
                                                           const std::map<std::string, std::string>& changes);

}  // namespace ratoon::launcher
