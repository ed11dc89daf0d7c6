// Functions that decide from a position whether an action is due. Checkpoints contain the position, so a
// resumed run acts at the same steps as an uninterrupted run.
//
//   const std::uint64_t before = stream.cursor();
//   stream.advance();
//   if (ratoon::crossed(before, stream.cursor(), {.count = stream.epoch_slots(), .parts = 4})) validate();
//   if (ratoon::crossed(stream.batches() - 1, stream.batches(), {.count = 500})) draw_samples();
#pragma once

#include <cstdint>

namespace ratoon {

// A Period has count / parts units: {500} means 500 units, and {epoch_slots, 4} means a quarter of an epoch.
// The period is a fraction, because a period rounded to whole units would drift.
struct Period {
  std::uint64_t count = 1;
  std::uint64_t parts = 1;
};

// Returns how many multiples of the period are above 0 and not above `position`. Throws std::invalid_argument
// if count or parts is 0.
[[nodiscard]] std::uint64_t times_due(std::uint64_t position, Period period);

// Returns whether a multiple of the period is after `before` and at or before `after`.
[[nodiscard]] bool crossed(std::uint64_t before, std::uint64_t after, Period period);

}  // namespace ratoon
