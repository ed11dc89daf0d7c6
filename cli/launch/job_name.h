// The name of the job that `ratoon launch` runs outside of a cluster. The job's folder, and the run of a
// trainer that names none, have this name.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ratoon::cli {

// Makes a valid job name from the trainer's command: letters, digits and '-' of the program's file name. If
// the program is an interpreter such as python3, the name is that of the script or module; otherwise all
// scripts would be the same run. Returns nothing if an interpreter runs no file, as `python3 -c`.
[[nodiscard]] std::optional<std::string> job_name_of(const std::vector<std::string>& command);

}  // namespace ratoon::cli
