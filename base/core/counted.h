// Writes a count with its noun for an output that people read: "1 process", "3 processes".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ratoon {

[[nodiscard]] inline std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
  return std::to_string(count) + " " + std::string(count == 1 ? one : many);
}

// Appends "s" to the noun unless the count is 1: for nouns with a regular plural.
[[nodiscard]] inline std::string counted(std::uint64_t count, std::string_view one) {
  return counted(count, one, std::string(one) + "s");
}

}  // namespace ratoon
