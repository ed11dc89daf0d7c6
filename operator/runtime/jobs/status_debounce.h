// Decides how long the write of a job's status may wait, so that one write covers several changes. Pure.
#pragma once

#include <vector>

#include "base/core/clock.h"
#include "operator/api/training_job.h"

namespace ratoon::runtime {

struct StatusDebounce {
  bool has_news = true;
  Duration after_the_last_write{0};  // the earliest time after the last write
  Duration from_now{0};              // counted from the first unwritten change
};

// Returns when to write the status. `news_since`: since when the status has a change that is not stored.
[[nodiscard]] Timestamp due(const StatusDebounce& debounce, Timestamp last_write, Timestamp news_since);

// `before`: the stored status. Changes for which users or programs wait are written at once.
// `is_making_pods`: the job's last turn left actions for this turn, so that more changes follow at once.
[[nodiscard]] StatusDebounce status_debounce_for(const api::TrainingJobSpec& spec,
                                                 const api::TrainingJobStatus& before,
                                                 const api::TrainingJobStatus& after,
                                                 bool is_making_pods = false);

// Copies the UIDs and nodes of pods that the last decision saw into the stored members, for members that are
// still the same, because the stored status may lack them. Without the copied UIDs and nodes, a pod that
// vanished would look like a pod that was never created.
void recall(const std::vector<api::MemberStatus>& seen, std::vector<api::MemberStatus>& stored);

}  // namespace ratoon::runtime
