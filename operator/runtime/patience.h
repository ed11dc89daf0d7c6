// How long the writing of a status may wait, so that one write tells what several would have told. Pure.
#pragma once

#include <vector>

#include "base/core/clock.h"
#include "operator/api/training_job.h"

namespace ratoon::runtime {

struct Patience {
  bool has_news = true;
  Duration after_the_last_write{0};  // not before that
  Duration from_now{0};              // from when it first had news
};

// `news_since`: from when on something was to be told that is not stored yet.
[[nodiscard]] Timestamp due(const Patience& patience, Timestamp last_write, Timestamp news_since);

// `before` is what is stored. What anybody waits for is stored at once.
[[nodiscard]] Patience patience_with(const api::TrainingJobSpec& spec, const api::TrainingJobStatus& before,
                                     const api::TrainingJobStatus& after);

// What a decision saw of pods is known to the next one, whether or not it was stored meanwhile: their UIDs
// and nodes, for members who are the same still. Without it a pod that vanishes would be one that was never
// made.
void recall(const std::vector<api::MemberStatus>& seen, std::vector<api::MemberStatus>& stored);

}  // namespace ratoon::runtime
