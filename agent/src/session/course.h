// Course: how far a run is, when it is over, and when a save is due. Positions and moments are told; what is
// due by counts follows from them alike on every rank. What is due by time comes at another step on each:
// rank 0 alone looks at it, and wishes for it with a bit of the control word.
//
//   Course course({.until = Until::epochs(90), .save_every = Every::steps(100)}, Decides::kTime);
//   course.begin_at(position_in_the_manifest, clock.now());
//   course.end_step(data_after_it, clock.now());
//   course.take(or_over_all_ranks(course.wishes()));
//   if (course.is_save_due()) save();
//   if (course.is_over()) leave();
#pragma once

#include <cstdint>
#include <optional>

#include <ratoon/every.h>
#include <ratoon/until.h>

#include "agent/src/checkpoint/run_record.h"
#include "base/core/clock.h"

namespace ratoon::session {

// Where the data stands: of a stream, its cursor and its epoch.
struct DataPosition {
  std::uint64_t samples = 0;
  std::uint64_t epoch_samples = 0;
  std::optional<std::uint64_t> batches{};  // not known: one a step
};

enum class Decides { kCounts, kTime };  // kTime: rank 0, of what is due by time, too

class Course {
 public:
  struct Rules {
    Until until = Until::steps(0);
    Every save_every = Every::steps(100);
  };
  Course(const Rules& rules, Decides decides);

  // Throws std::invalid_argument where samples or epochs are counted and there are none to count.
  void begin_at(const RunPosition& position, Timestamp now);
  // The run ends here: an earlier start had ended it, or the program does, which has the end in its own loop.
  void end_before_time() { is_over_ = true; }
  void end_step(const DataPosition& data, Timestamp now);
  // Bits that rank 0 would like agreed: what time made due since it was last agreed.
  [[nodiscard]] std::uint32_t wishes() const { return wishes_; }
  // What all agreed on for the step that ended; told before the two below are asked.
  void take(std::uint32_t agreed);
  // For saves that are due by themselves: when the last one began, and the time from it to the next.
  void note_save(Timestamp began) { saved_ = began; }
  void set_save_interval(Duration interval) { interval_ = interval; }

  [[nodiscard]] bool is_over() const { return is_over_; }
  [[nodiscard]] bool is_save_due() const { return is_save_due_; }
  // Whether a step must end with an agreement, where there is more than one rank.
  [[nodiscard]] bool needs_agreement() const;

  [[nodiscard]] const RunPosition& position() const { return position_; }
  [[nodiscard]] const Until& until() const { return rules_.until; }

 private:
  Rules rules_;
  Decides decides_;
  RunPosition position_;
  Timestamp looked_;
  Timestamp saved_;
  Duration interval_;
  std::uint32_t wishes_ = 0;
  bool is_over_ = false;
  bool is_save_due_ = false;
};

// As the manifest keeps it, and back. Of a manifest without one, only the steps are known: samples are as the
// stream says that was restored.
[[nodiscard]] checkpoint::RunRecord record_of(const RunPosition& position);
[[nodiscard]] RunPosition position_of(std::uint64_t steps, const std::optional<checkpoint::RunRecord>& record,
                                      const DataPosition& data);

}  // namespace ratoon::session
