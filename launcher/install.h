// Copies ratoon-launcher itself into the volume that it shares with the container of the program. The image
// of the operator has neither a shell nor cp.
#pragma once

#include <string>

#include <ratoon/result.h>

namespace ratoon::launcher {

// Any user may run the file at `path`. An existing file is replaced in one step.
[[nodiscard]] Result<void> install_to(const std::string& path);

}  // namespace ratoon::launcher
