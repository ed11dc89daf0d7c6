// Computes the settings of a run's saver, such as the memory for staging (copies of a save in memory), from
// the options.
#pragma once

#include <cstdint>

#include <ratoon/options.h>

#include "agent/src/checkpoint/saver/save_pipeline.h"

namespace ratoon::session {

// Returns the default for --staging-memory-mib, in bytes: half of the free memory, divided by the number of
// the run's processes on this machine.
[[nodiscard]] std::uint64_t automatic_budget(const Options& options, std::uint64_t free_bytes);

[[nodiscard]] checkpoint::SaverOptions saver_options(const Options& options);

// Returns how many bytes of the run's initial state a process may keep in memory in addition to its staging
// slots. The initial state and the staging slots together stay within the limit for staging memory.
[[nodiscard]] std::uint64_t first_state_bytes_max(const Options& options);

}  // namespace ratoon::session
