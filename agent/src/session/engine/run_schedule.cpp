#include "agent/src/session/engine/run_schedule.h"

#include <stdexcept>

#include "agent/src/preemption/save_interval.h"
#include "agent/src/session/engine/control_word.h"

namespace ratoon::session {
namespace {

bool counts_data(CountedIn unit) {
  return unit == CountedIn::kEpochs || unit == CountedIn::kSamples;
}

}  // namespace

RunSchedule::RunSchedule(const Rules& rules, DecisionBasis decides)
    : rules_(rules), decision_basis_(decides), interval_(preemption::save_interval({})) {}

void RunSchedule::begin_at(const RunPosition& position, Timestamp now) {
  const bool has_data = position.epoch_samples != 0;
  if (!has_data && (counts_data(rules_.until.unit()) || counts_data(rules_.save_every.unit()))) {
    throw std::invalid_argument(
        "a run that is counted in epochs or samples needs a stream: call session.follow(stream) before "
        "steps(), or count in steps (st) or time (h, m, s)");
  }
  position_ = position;
  step_ended_at_ = last_save_began_ = now;
  is_over_ = rules_.until.is_reached(position_);
}

bool RunSchedule::needs_agreement() const {
  return rules_.until.unit() == CountedIn::kTime || rules_.save_every.unit() == CountedIn::kTime;
}

void RunSchedule::end_step(const DataPosition& data, Timestamp now) {
  const RunPosition before = position_;
  ++position_.steps;
  position_.batches = data.batches.value_or(position_.batches + 1);
  position_.samples = data.samples;
  position_.epoch_samples = data.epoch_samples;
  position_.trained += now - step_ended_at_;
  step_ended_at_ = now;
  is_save_due_ = false;
  const bool is_due = rules_.save_every.is_automatic() ? now - last_save_began_ >= interval_
                                                       : rules_.save_every.is_due(before, position_);
  if (rules_.save_every.unit() != CountedIn::kTime)
    is_save_due_ = is_due;
  else if (is_due && decision_basis_ == DecisionBasis::kTime)
    requests_ |= control::kSave;
  const bool is_reached = rules_.until.is_reached(position_);
  if (rules_.until.unit() != CountedIn::kTime)
    is_over_ = is_reached;
  else if (is_reached && decision_basis_ == DecisionBasis::kTime)
    requests_ |= control::kEnd;
}

void RunSchedule::apply_requests(std::uint32_t agreed) {
  requests_ &= ~agreed;
  if ((agreed & (control::kEnd | control::kFinish)) != 0) is_over_ = true;
  // The last step is always saved, because the state at the end is the result of the run.
  if ((agreed & control::kSave) != 0 || is_over_) is_save_due_ = true;
}

checkpoint::RunRecord record_of(const RunPosition& position) {
  return {.batches = position.batches,
          .samples = position.samples,
          .epoch_samples = position.epoch_samples,
          .trained_nanoseconds = static_cast<std::uint64_t>(position.trained.count())};
}

RunPosition position_of(std::uint64_t steps, const std::optional<checkpoint::RunRecord>& record,
                        const DataPosition& data) {
  const checkpoint::RunRecord known = record.value_or(checkpoint::RunRecord{.batches = steps});
  return {.steps = steps,
          .batches = known.batches,
          .samples = data.samples,
          .epoch_samples = data.epoch_samples,
          .trained = Duration(static_cast<Duration::rep>(known.trained_nanoseconds))};
}

}  // namespace ratoon::session
