// Checks whether a job fits on this machine, before any file is created or process is started.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include <ratoon/result.h>

#include "operator/api/training_job.h"
#include "operator/local/control/loss_schedule.h"

namespace ratoon::local {

struct MachineCapacity {
  std::uint64_t open_files = 0;                                       // of one process
  std::uint64_t threads = std::numeric_limits<std::uint64_t>::max();  // of the system
  std::optional<std::uint64_t> nodes_max{};  // at once, of a trace; nothing: as many as the job needs
};

// Reads the limits of this process and of this machine, and counts the nodes of the run's trace.
[[nodiscard]] MachineCapacity count_capacity(const LossPlan& losses);
[[nodiscard]] Result<void> check_capacity(const api::TrainingJob& job, const MachineCapacity& capacity);

// Returns how many unauthenticated connections the coordinator may have at once. The limit leaves enough open
// files for the run, because other users of the machine can open connections, too.
[[nodiscard]] std::size_t unauthenticated_connections_max(const api::TrainingJobSpec& spec);

// Returns the largest number of nodes that exist at the same time in a trace.
[[nodiscard]] std::uint64_t peak_node_count(const std::vector<TraceEvent>& trace);

}  // namespace ratoon::local
