// Fills objects from one plain safetensors file, such as a run leaves at its end.
#pragma once

#include <string>
#include <vector>

#include <ratoon/load.h>

namespace ratoon::session {

// See load_targets(). The file may be replaced meanwhile: either the old or the new one is read, whole.
[[nodiscard]] LoadedFrom load_file(const std::string& path, const std::vector<LoadTarget>& targets);

}  // namespace ratoon::session
