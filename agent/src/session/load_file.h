// Objects filled from one plain safetensors file, such as a run leaves at its end.
#pragma once

#include <string>
#include <vector>

#include <ratoon/load.h>

namespace ratoon::session {

// As load_targets() says. The file may be replaced meanwhile: what is read is one of the two, whole.
[[nodiscard]] LoadedFrom load_file(const std::string& path, const std::vector<LoadTarget>& targets);

}  // namespace ratoon::session
