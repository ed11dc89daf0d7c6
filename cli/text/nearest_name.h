// Suggests a known name for a misspelled one.
#pragma once

#include <string>
#include <vector>

namespace ratoon::cli {

[[nodiscard]] std::string lower(std::string text);

// Returns the name in `names` that needs the fewest edits to become `written`; empty if no name is near.
[[nodiscard]] std::string nearest_name(const std::string& written, const std::vector<std::string>& names);

}  // namespace ratoon::cli
