// Fills objects from one plain safetensors file, such as the file that a run writes at its end.
#pragma once

#include <string>
#include <vector>

#include <ratoon/load.h>

namespace ratoon::session {

// Does what load_targets() does, for one file. If the file is replaced during the read, load_file() reads
// either the whole old file or the whole new file.
[[nodiscard]] LoadedFrom load_file(const std::string& path, const std::vector<LoadTarget>& targets);

}  // namespace ratoon::session
