// Returns the seed of a random generator that has no saved state: in a new run, or on a rank that is new. The
// golden values in tests/unit/agent/session/state/seed_of_test.cpp never change.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ratoon/counter_random.h>

#include "base/contract/messages.h"

namespace ratoon::session {

// `step` is the step at which the attempt begins. Generators with different names, ranks or steps give
// independent numbers.
[[nodiscard]] inline std::uint64_t seed_of(std::uint64_t seed, Step step, Rank rank, std::string_view name) {
  return CounterRandom(seed, "generator:" + std::string(name), step.value(), rank.value()).next_u64();
}

}  // namespace ratoon::session
