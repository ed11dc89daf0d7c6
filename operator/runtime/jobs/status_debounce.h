// Decides how long the write of a status may wait, so that one write covers several changes. Pure.
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

// `news_since` is the time since when a change is not stored yet.
[[nodiscard]] Timestamp due(const StatusDebounce& debounce, Timestamp last_write, Timestamp news_since);

// `before` is the stored status. Changes for which users or programs wait are stored at once.
[[nodiscard]] StatusDebounce status_debounce_for(const api::TrainingJobSpec& spec,
                                                 const api::TrainingJobStatus& before,
                                                 const api::TrainingJobStatus& after);

// Passes the UIDs and nodes of pods from one decision to the next, also if they were not stored in between,
// for members that are still the same. Without the passed UIDs a vanished pod would look like one that was
// never created.
void recall(const std::vector<api::MemberStatus>& seen, std::vector<api::MemberStatus>& stored);

}  // namespace ratoon::runtime
