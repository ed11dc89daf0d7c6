// RunSchedule counts a run's progress and decides when the run is over and when a save is due. RunSchedule
// does no I/O: the position and the time are arguments of its functions. Events that depend on counts of
// steps or samples are due in the same step on every rank. The clocks of ranks differ, so rank 0 alone
// decides when events that depend on time are due. Rank 0 requests such an event with a bit of the control
// word, which the ranks exchange.
//
//   const RunSchedule::Rules rules{.until = Until::epochs(90), .save_every = Every::steps(100)};
//   RunSchedule schedule(rules, DecisionBasis::kTime);
//   schedule.begin_at(position_in_the_manifest, clock.now());
//   schedule.end_step(data_after_it, clock.now());
//   schedule.apply_requests(or_over_all_ranks(schedule.requests()));
//   if (schedule.is_save_due()) save();
//   if (schedule.is_over()) leave();
#pragma once

#include <cstdint>
#include <optional>

#include <ratoon/every.h>
#include <ratoon/until.h>

#include "agent/src/checkpoint/format/run_record.h"
#include "base/core/clock.h"

namespace ratoon::session {

// DataPosition says how many samples a run's stream has returned, and how large an epoch is.
struct DataPosition {
  std::uint64_t samples = 0;
  std::uint64_t epoch_samples = 0;
  std::optional<std::uint64_t> batches{};  // not known: one per step
};

enum class DecisionBasis { kCounts, kTime };  // kTime: of rank 0, which also decides what is due by time

class RunSchedule {
 public:
  struct Rules {
    Until until = Until::steps(0);
    Every save_every = Every::steps(100);
  };
  RunSchedule(const Rules& rules, DecisionBasis decides);

  // Throws std::invalid_argument if the end or the save interval is in samples or epochs, but the run has no
  // stream.
  void begin_at(const RunPosition& position, Timestamp now);
  // Ends the run at the current step, because the program ended its own loop there, or because an earlier
  // start had ended there.
  void end_early() { is_over_ = true; }
  void end_step(const DataPosition& data, Timestamp now);
  // Returns, as request bits of rank 0, the events that became due by time since the ranks last exchanged
  // requests.
  [[nodiscard]] std::uint32_t requests() const { return requests_; }
  // Applies the requests on which all ranks have agreed for the step that ended. In each step, call
  // apply_requests() before is_over() and is_save_due().
  void apply_requests(std::uint32_t agreed);
  // For --save-every=auto: sets when the last save began, and the interval to the next save.
  void note_save(Timestamp began) { last_save_began_ = began; }
  void set_save_interval(Duration interval) { interval_ = interval; }

  [[nodiscard]] bool is_over() const { return is_over_; }
  [[nodiscard]] bool is_save_due() const { return is_save_due_; }
  // Returns whether saves or the run's end depend on time, so that the ranks must agree in each step.
  [[nodiscard]] bool needs_agreement() const;

  [[nodiscard]] const RunPosition& position() const { return position_; }
  [[nodiscard]] const Until& until() const { return rules_.until; }

 private:
  Rules rules_;
  DecisionBasis decision_basis_;
  RunPosition position_;
  Timestamp step_ended_at_;
  Timestamp last_save_began_;
  Duration interval_;
  std::uint32_t requests_ = 0;
  bool is_over_ = false;
  bool is_save_due_ = false;
};

// record_of() and position_of() convert a position to the record in a manifest, and back. If the manifest has
// no record of a position, position_of() uses `steps` and the samples of the restored stream.
[[nodiscard]] checkpoint::RunRecord record_of(const RunPosition& position);
[[nodiscard]] RunPosition position_of(std::uint64_t steps, const std::optional<checkpoint::RunRecord>& record,
                                      const DataPosition& data);

}  // namespace ratoon::session
