// How much of a long search a build can run: sanitizers slow the search down tenfold, and look for faults
// that a few cases show.
#pragma once

#include <cstdint>

namespace ratoon::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr std::uint64_t kEffortPercent = 2;
#else
inline constexpr std::uint64_t kEffortPercent = 100;
#endif

// Returns the affordable part of `all`, and at least one.
[[nodiscard]] constexpr std::uint64_t afforded(std::uint64_t all) {
  return all * kEffortPercent / 100 == 0 ? 1 : all * kEffortPercent / 100;
}

}  // namespace ratoon::test
