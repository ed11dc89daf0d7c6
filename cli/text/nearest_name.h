// Suggests a known name for a misspelled one.
#pragma once

#include <string>
#include <vector>

namespace ratoon::cli {

[[nodiscard]] std::string lower(std::string text);

// Returns the name with the fewest edits (typing mistakes) from `written`; empty if no name is near.
[[nodiscard]] std::string nearest_name(const std::string& written, const std::vector<std::string>& names);

}  // namespace ratoon::cli
