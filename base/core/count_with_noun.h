// Writes a count with its noun for an output that people read: "1 process", "3 processes".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ratoon {

[[nodiscard]] inline std::string count_with_noun(std::uint64_t count, std::string_view one,
                                                 std::string_view many) {
  return std::to_string(count) + " " + std::string(count == 1 ? one : many);
}

// Appends "s" to the noun unless the count is 1. The noun must have a regular plural.
[[nodiscard]] inline std::string count_with_noun(std::uint64_t count, std::string_view one) {
  return count_with_noun(count, one, std::string(one) + "s");
}

}  // namespace ratoon
