// Fills objects from one plain safetensors file, such as a run writes at its end.
#pragma once

#include <string>
#include <vector>

#include <ratoon/load.h>

namespace ratoon::session {

// Does the same as load_targets() for one file. If the file is replaced during the read, either the whole old
// file or the whole new file is read.
[[nodiscard]] LoadedFrom load_file(const std::string& path, const std::vector<LoadTarget>& targets);

}  // namespace ratoon::session
