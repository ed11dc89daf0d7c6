// Finds nodes on which members failed repeatedly. A broken GPU causes the same failures as a broken program,
// but only on one node.
#pragma once

#include <string>
#include <vector>

#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// If the status has a new last failure, counts the failure against the node of the member that failed;
// failures that follow from it do not count. A pod that kubelet did not start counts against its node like a
// failed member. A member that reports an unusable GPU (accelerator) makes its node faulty at once.
void record_failed_nodes(const Observation& seen, const RosterChange& change, api::TrainingJobStatus& status);

// Returns an event for each node whose accelerator a lost member reported as unusable.
[[nodiscard]] std::vector<Action> report_unusable_devices(const Observation& seen,
                                                          const RosterChange& change);

// Returns nodes on which two or more incarnations failed, each within an hour after the previous one. A node
// stays faulty until an hour after its last failure. Members may still run on a faulty node if no other node
// has room: otherwise a program that fails on every node would make all nodes unusable.
[[nodiscard]] std::vector<std::string> faulty_nodes(const Observation& seen,
                                                    const api::TrainingJobStatus& status);

}  // namespace ratoon::core
