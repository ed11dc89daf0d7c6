// What the environment says of a run of laws: how many seeds, from which on.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace ratoon::sim {

inline std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

}  // namespace ratoon::sim
