// The meaning of a run's options for its saver.
#pragma once

#include <cstdint>

#include <ratoon/options.h>

#include "agent/src/checkpoint/saver/save_pipeline.h"

namespace ratoon::session {

// The memory of all slots of one process if no option sets it: half of the free memory, in equal parts for
// the processes of the run that share the machine.
[[nodiscard]] std::uint64_t automatic_budget(const Options& options, std::uint64_t free_bytes);

[[nodiscard]] checkpoint::SaverOptions saver_options(const Options& options);

// The number of bytes of the state at the run's beginning that a process keeps beside its slots. These bytes
// and the slots together stay within the memory that slots may have.
[[nodiscard]] std::uint64_t first_state_bytes_max(const Options& options);

}  // namespace ratoon::session
