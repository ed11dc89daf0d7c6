// Finds nodes on which members failed repeatedly. A broken GPU causes the same failures as a broken program,
// but only on one node.
#pragma once

#include <string>
#include <vector>

#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// If the status has a new last failure, counts it against the node of the member that failed; failures that
// follow from that failure do not count. A pod that kubelet did not start also counts against its node. A
// member that reports an unusable GPU (accelerator) makes its node sick at once.
void note_failed_nodes(const Observation& seen, const RosterChange& change, api::TrainingJobStatus& status);

// Returns an event for each node whose accelerator a lost member reported as unusable.
[[nodiscard]] std::vector<Action> report_unusable_devices(const Observation& seen,
                                                          const RosterChange& change);

// Returns nodes on which two or more incarnations failed, each within an hour after the one before. A node
// stays sick until an hour after its last failure. Members still go to a sick node if no other node has room,
// so that a program which fails on every node does not make all nodes unusable.
[[nodiscard]] std::vector<std::string> sick_nodes(const Observation& seen,
                                                  const api::TrainingJobStatus& status);

}  // namespace ratoon::core
