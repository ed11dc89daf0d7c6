// Computes the seed of a random number generator that has no saved state, because the run or the rank is new.
// The algorithm must never change, and tests/unit/agent/session/state/seed_of_test.cpp has expected values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ratoon/counter_random.h>

#include "base/contract/messages.h"

namespace ratoon::session {

// `step` is the step at which the attempt begins or resumes. Generators with different names, ranks or steps
// get independent seeds.
[[nodiscard]] inline std::uint64_t seed_of(std::uint64_t seed, Step step, Rank rank, std::string_view name) {
  return CounterRandom(seed, "generator:" + std::string(name), step.value(), rank.value()).next_u64();
}

}  // namespace ratoon::session
