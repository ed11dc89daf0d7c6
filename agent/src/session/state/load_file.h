// Loads tracked objects from one plain safetensors file, such as the file that a completed run writes.
#pragma once

#include <string>
#include <vector>

#include <ratoon/load.h>

namespace ratoon::session {

// Loads the objects of `targets` from one safetensors file. If another program replaces the file during the
// read, load_file() reads either the old or the new file completely.
[[nodiscard]] LoadedFrom load_file(const std::string& path, const std::vector<LoadTarget>& targets);

}  // namespace ratoon::session
