// Derives the settings of a run's saver from its options.
#pragma once

#include <cstdint>

#include <ratoon/options.h>

#include "agent/src/checkpoint/saver/save_pipeline.h"

namespace ratoon::session {

// Returns the memory for all staging slots of one process if no option sets it: half of the free memory, in
// equal parts for the run's processes on the machine.
[[nodiscard]] std::uint64_t automatic_budget(const Options& options, std::uint64_t free_bytes);

[[nodiscard]] checkpoint::SaverOptions saver_options(const Options& options);

// Returns how many bytes of the run's first state a process may keep in memory besides its staging slots. The
// state and the slots together stay within the memory limit of staging slots.
[[nodiscard]] std::uint64_t first_state_bytes_max(const Options& options);

}  // namespace ratoon::session
