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

// Returns the pause after the release number `number` (from 1). The first pause is between a half and the
// whole of releaseAfterSeconds. Each release doubles it, up to eight times releaseAfterSeconds.
[[nodiscard]] Duration pause_after_release(const api::TrainingJob& job, std::uint32_t number);

// Returns whether the job has freed its nodes and is in the pause before it asks for nodes again.
[[nodiscard]] bool is_released(const api::TrainingJobStatus& status);

// Ends the pause as soon as no pod of the job holds a node and either the pause is over or the spec was
// changed. Returns an event about the end of the pause.
[[nodiscard]] std::vector<Action> end_release(const Observation& seen, api::TrainingJobStatus& status);

// Records since when the job holds some nodes but lacks others. When this has lasted for releaseAfterSeconds,
// begins a release: is_released() becomes true, and the caller must call make_released_decision(). Call
// update_capacity_wait() after an attempt to form a world. Returns the time at which the release is due.
[[nodiscard]] std::optional<WallTime> update_capacity_wait(const Observation& seen,
                                                           api::TrainingJobStatus& status,
                                                           std::vector<Action>& news);

// Returns the decision for a released job, which deletes its pods. `news` are the events of the decision.
[[nodiscard]] Decision make_released_decision(const Observation& seen, std::vector<Action> news,
                                              api::TrainingJobStatus status);

// Returns when the pause ends, or nothing if its end waits for the end of pods.
[[nodiscard]] std::optional<WallTime> release_pause_end(const Observation& seen,
                                                        const api::TrainingJobStatus& status);

}  // namespace ratoon::core
