// Whether a job fits on this machine. Asked before anything is made or started.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include <ratoon/result.h>

#include "operator/api/training_job.h"
#include "operator/local/loss_schedule.h"

namespace ratoon::local {

struct Room {
  std::uint64_t open_files = 0;                                       // that one process may have
  std::uint64_t threads = std::numeric_limits<std::uint64_t>::max();  // that the system may have
  std::optional<std::uint64_t> nodes_max{};  // there at once, of a trace; nothing: as many as are needed
};

[[nodiscard]] Result<void> check_room(const api::TrainingJob& job, const Room& room);

// Connections to the coordinator that have shown no token, at once: other users of the machine can open them,
// and the files that they take must leave enough for the run.
[[nodiscard]] std::size_t strangers_max(const api::TrainingJobSpec& spec);

// How many nodes of a trace are there at once, at most.
[[nodiscard]] std::uint64_t most_nodes_of(const std::vector<TraceEvent>& trace);

}  // namespace ratoon::local
