// A job with releaseAfterSeconds does not hold nodes forever while it waits for more: two jobs that each hold
// a part of the nodes and wait for the rest would never train. The job frees its nodes, makes no pods during
// a pause, and then asks for all of its nodes again. The pauses grow with each release since the last world.
// They depend on the job's identity, so that two jobs do not free and request nodes at the same times.
//
// A job frees nodes only while no world of it trains, so its members have nothing to save. A job keeps its
// nodes while the newest checkpoint is only on disks of these nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Returns the pause after the release of nodes that has the number `number`, counted from 1. The first pause
// is between a half and the whole of releaseAfterSeconds. Each further release doubles both bounds, until the
// upper bound is eight times releaseAfterSeconds.
[[nodiscard]] Duration pause_after_release(const api::TrainingJob& job, std::uint32_t number);

// Returns whether the job has freed its nodes and is in the pause before it asks for nodes again.
[[nodiscard]] bool is_released(const api::TrainingJobStatus& status);

// Ends the release when the time of its pause is over or the user has changed the spec, but not before all
// pods of the job have freed their nodes. Returns an event about the end of the release.
[[nodiscard]] std::vector<Action> end_release(const Observation& seen, api::TrainingJobStatus& status);

// Records since when the job holds some nodes but lacks others. When the job has lacked nodes for
// releaseAfterSeconds, begins a release: is_released() becomes true, and the caller must call
// make_released_decision(). If the decision calls form_world(), call update_capacity_wait() after
// form_world(). Returns the time at which the release is due.
[[nodiscard]] std::optional<WallTime> update_capacity_wait(const Observation& seen,
                                                           api::TrainingJobStatus& status,
                                                           std::vector<Action>& news);

// Returns the decision that deletes the pods of a released job. `news` are the events of this decision.
[[nodiscard]] Decision make_released_decision(const Observation& seen, std::vector<Action> news,
                                              api::TrainingJobStatus status);

// Returns when the pause ends. Returns nothing if the job is not released, or if the pause is over and the
// job waits only for the end of its pods.
[[nodiscard]] std::optional<WallTime> release_pause_end(const Observation& seen,
                                                        const api::TrainingJobStatus& status);

}  // namespace ratoon::core
