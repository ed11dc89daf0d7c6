// Fills objects from one plain safetensors file, such as a run leaves at its end.
#pragma once

#include <string>
#include <vector>

#include <ratoon/load.h>

namespace ratoon::session {

// See load_targets(). The file may be replaced during the read: either the old file or the new file is read,
// and each is whole.
[[nodiscard]] LoadedFrom load_file(const std::string& path, const std::vector<LoadTarget>& targets);

}  // namespace ratoon::session
