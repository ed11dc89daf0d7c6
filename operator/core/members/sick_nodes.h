// Nodes on which members failed repeatedly. A broken device causes the same failures as a broken program, but
// on one node only.
#pragma once

#include <string>
#include <vector>

#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// If the status has a new last failure, counts the failure against its node. Failures that follow from the
// first failure are not counted. A pod that its kubelet did not start counts against its node. A member that
// reports an unusable accelerator makes its node sick at once.
void note_failed_nodes(const Observation& seen, const RosterChange& change, api::TrainingJobStatus& status);

// Returns an event for each node whose accelerator a lost member reported as unusable.
[[nodiscard]] std::vector<Action> report_unusable_devices(const Observation& seen,
                                                          const RosterChange& change);

// Nodes on which two or more incarnations failed, each within an hour of the one before, for an hour after
// the last failure. Members are placed on sick nodes only if no other node has room: a program that fails
// everywhere must not exclude all nodes.
[[nodiscard]] std::vector<std::string> sick_nodes(const Observation& seen,
                                                  const api::TrainingJobStatus& status);

}  // namespace ratoon::core
