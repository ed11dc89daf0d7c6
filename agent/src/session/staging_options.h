// What the options of a run mean for its saver.
#pragma once

#include <cstdint>

#include <ratoon/options.h>

#include "agent/src/checkpoint/save_work.h"

namespace ratoon::session {

// Of all slots of one process where no option says how much: half of what is free, in equal parts for the
// processes of the run that share the machine.
[[nodiscard]] std::uint64_t automatic_budget(const Options& options, std::uint64_t free_bytes);

[[nodiscard]] checkpoint::SaverOptions saver_options(const Options& options);

// How much of the state at the run's beginning a process keeps beside its slots, all of them within the
// memory that slots may have.
[[nodiscard]] std::uint64_t first_state_bytes_max(const Options& options);

}  // namespace ratoon::session
