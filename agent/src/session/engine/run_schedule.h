// RunSchedule counts a run's progress and decides when the run is over and when a save is due. RunSchedule
// does no I/O: the position and the time are arguments of its functions. Events that depend on counts of
// steps or samples are due in the same step on every rank. Events that depend on time would be due in
// different steps on different ranks. Rank 0 alone decides when events that depend on time are due, and
// requests them with a bit of the control word, which the ranks exchange.
//
//   RunSchedule schedule({.until = Until::epochs(90), .save_every = Every::steps(100)}, DueBy::kTime);
//   schedule.begin_at(position_in_the_manifest, clock.now());
//   schedule.end_step(data_after_it, clock.now());
//   schedule.take(or_over_all_ranks(schedule.requests()));
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

// The position of a run in its data: the position and the epoch size of its stream.
struct DataPosition {
  std::uint64_t samples = 0;
  std::uint64_t epoch_samples = 0;
  std::optional<std::uint64_t> batches{};  // not known: one per step
};

enum class DueBy { kCounts, kTime };  // kTime: of rank 0, which also decides what is due by time

class RunSchedule {
 public:
  struct Rules {
    Until until = Until::steps(0);
    Every save_every = Every::steps(100);
  };
  RunSchedule(const Rules& rules, DueBy decides);

  // Throws std::invalid_argument if the end or the save interval is in samples or epochs, but the run has no
  // stream.
  void begin_at(const RunPosition& position, Timestamp now);
  // Ends the run at the current step, because the program ended its own loop there, or because an earlier
  // start had ended there.
  void end_before_time() { is_over_ = true; }
  void end_step(const DataPosition& data, Timestamp now);
  // Returns, as request bits of rank 0, the events that became due by time since the ranks last exchanged
  // requests.
  [[nodiscard]] std::uint32_t requests() const { return requests_; }
  // Applies the requests on which all ranks have agreed for the step that ended. In each step, call take()
  // before is_over() and is_save_due().
  void take(std::uint32_t agreed);
  // For --save-every=auto: sets when the last save began, and the interval to the next save.
  void note_save(Timestamp began) { saved_ = began; }
  void set_save_interval(Duration interval) { interval_ = interval; }

  [[nodiscard]] bool is_over() const { return is_over_; }
  [[nodiscard]] bool is_save_due() const { return is_save_due_; }
  // Returns whether saves or the end depend on the time: then the ranks must agree on them in each step.
  [[nodiscard]] bool needs_agreement() const;

  [[nodiscard]] const RunPosition& position() const { return position_; }
  [[nodiscard]] const Until& until() const { return rules_.until; }

 private:
  Rules rules_;
  DueBy due_by_;
  RunPosition position_;
  Timestamp looked_;
  Timestamp saved_;
  Duration interval_;
  std::uint32_t requests_ = 0;
  bool is_over_ = false;
  bool is_save_due_ = false;
};

// Convert a position to the record in a checkpoint's manifest, and back. If the checkpoint's manifest has no
// record, only the number of steps is known, and the samples are those of the restored stream.
[[nodiscard]] checkpoint::RunRecord record_of(const RunPosition& position);
[[nodiscard]] RunPosition position_of(std::uint64_t steps, const std::optional<checkpoint::RunRecord>& record,
                                      const DataPosition& data);

}  // namespace ratoon::session
