// Nodes on which members failed again and again: a broken device looks like a broken program, but it stays
// where it is.
#pragma once

#include <string>
#include <vector>

#include "operator/core/observation.h"
#include "operator/core/roster.h"

namespace ratoon::core {

// Counts the failure that the status tells last, if it is news, against its node. Those that follow from it
// are no failures of their nodes. A pod that its kubelet did not start is one of the node alone. A member
// that says that the accelerator of its node is unusable makes the node a sick one at once.
void note_failed_nodes(const Observation& seen, const RosterChange& change, api::TrainingJobStatus& status);

// An event for each node whose accelerator a member that is lost calls unusable.
[[nodiscard]] std::vector<Action> tell_of_devices(const Observation& seen, const RosterChange& change);

// Where two incarnations or more failed, each within an hour of the one before, for an hour after the last.
// Members go there only where no other node has room: a program that fails wherever it runs must not shut
// itself out.
[[nodiscard]] std::vector<std::string> sick_nodes(const Observation& seen,
                                                  const api::TrainingJobStatus& status);

}  // namespace ratoon::core
