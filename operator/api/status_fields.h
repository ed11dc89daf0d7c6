// Size limits and formats that several parts of a TrainingJob's status share.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/contract/fields.h"
#include "base/core/clock.h"

namespace ratoon::api {

inline constexpr std::uint64_t kStatusCountMax = (1ULL << 53) - 1;
// The most bytes that 4096 characters can take; the CustomResourceDefinition allows 4096 characters.
inline constexpr std::size_t kStatusSentenceBytesMax = 4 * 4096;

inline WallTime read_time(Fields& f, const char* name) {
  const auto time = parse_rfc3339(f.text(name, 64));
  if (!time) f.complain(name, "a time like 2026-11-21T11:38:21.250Z");
  return time.value_or(WallTime{});
}

// Rounds seconds to milliseconds, which are exact enough for readers of the status.
inline double round_to_milliseconds(double seconds) {
  return std::round(seconds * 1000) / 1000;
}

}  // namespace ratoon::api
