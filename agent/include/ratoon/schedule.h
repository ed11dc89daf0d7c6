// Schedules as functions of positions that are in the checkpoint: a run that resumed in the middle of an
// epoch acts at the same steps as an uninterrupted run.
//
//   const std::uint64_t before = stream.cursor();
//   stream.advance();
//   if (ratoon::crossed(before, stream.cursor(), {.count = stream.epoch_slots(), .parts = 4})) validate();
//   if (ratoon::crossed(stream.batches() - 1, stream.batches(), {.count = 500})) draw_samples();
#pragma once

#include <cstdint>

namespace ratoon {

// A period of count / parts units: {500} is 500 units, and {epoch_slots, 4} slots are a quarter of an epoch.
// The period is a fraction because a rounded value would drift.
struct Period {
  std::uint64_t count = 1;
  std::uint64_t parts = 1;
};

// How many multiples of the period, above 0, are at or before `position`: the number of times that the period
// was due. Throws std::invalid_argument if count or parts is 0.
[[nodiscard]] std::uint64_t times_due(std::uint64_t position, Period period);

// Returns whether a multiple of the period is after `before` and at or before `after`.
[[nodiscard]] bool crossed(std::uint64_t before, std::uint64_t after, Period period);

}  // namespace ratoon
