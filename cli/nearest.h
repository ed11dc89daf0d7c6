// What somebody may have meant by a name that is not there.
#pragma once

#include <string>
#include <vector>

namespace ratoon::cli {

[[nodiscard]] std::string lower(std::string text);

// The one of `names` that takes the fewest slips of the pen to become `written`; empty where none is near.
[[nodiscard]] std::string nearest(const std::string& written, const std::vector<std::string>& names);

}  // namespace ratoon::cli
