// Decides how long the write of a job's status may wait, so that one write covers several changes. Pure.
#pragma once

#include <vector>

#include "base/core/clock.h"
#include "operator/api/training_job.h"

namespace ratoon::runtime {

struct StatusDebounce {
  bool has_change = true;
  Duration after_last_write{0};    // the earliest time after the last write
  Duration after_first_change{0};  // counted from the first unwritten change
};

// Returns when to write the status. `news_since`: since when the status has a change that is not stored.
[[nodiscard]] Timestamp status_write_time(const StatusDebounce& debounce, Timestamp last_write,
                                          Timestamp news_since);

// `before` is the stored status. A change for which users or programs wait is written at once.
// `is_making_pods`: the last turn of the job left actions for this turn, so the status changes again soon.
[[nodiscard]] StatusDebounce status_debounce_for(const api::TrainingJobSpec& spec,
                                                 const api::TrainingJobStatus& before,
                                                 const api::TrainingJobStatus& after,
                                                 bool is_making_pods = false);

// Copies the UIDs and nodes of pods that the last decision saw into the stored members, because the stored
// status may lack them. Skips members that have changed. Without the copy, a pod that vanished would look
// like one that was never created.
void restore_pod_placement(const std::vector<api::MemberStatus>& seen,
                           std::vector<api::MemberStatus>& stored);

}  // namespace ratoon::runtime
