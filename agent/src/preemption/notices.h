// Notices: the announcements that this process will be ended. Each notice has a source and a deadline.
// Several sources, such as a signal and a time limit, may have a notice at once. The notice with the earliest
// deadline determines when the process ends.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "agent/src/preemption/drain_plan.h"
#include "base/core/clock.h"

namespace ratoon::preemption {

struct Notice {
  Timestamp deadline;
  bool is_sudden = true;              // false: known since the process began, no reason to save at once
  std::string why{};                  // for people: "SIGTERM", "the time limit of 4h"
  Duration margin = kDeadlineMargin;  // the process leaves this long before the deadline
  bool ends_run = false;              // all processes of the run end then, so none is replaced

  friend bool operator==(const Notice&, const Notice&) = default;
};

class Notices {
 public:
  // Adds a notice, which replaces an earlier notice of the same source. Returns whether the new notice has an
  // earlier deadline than all previous notices.
  bool set_notice(std::string_view source, Notice notice);
  // Withdraws the notice of a source; returns false if the source has given no notice. An order of the
  // coordinator can be withdrawn; a signal cannot.
  bool withdraw(std::string_view source);

  [[nodiscard]] const Notice* find(std::string_view source) const;  // nullptr: no notice of this source
  [[nodiscard]] const Notice* first() const;                        // nullptr: there is no notice
  [[nodiscard]] std::optional<Duration> left(Timestamp now) const;

 private:
  std::map<std::string, Notice, std::less<>> notices_;
};

// KnownDeadlines: the deadlines that a process can know at its start. Each field is the text of an
// environment variable or flag, or nullopt if the variable or flag is not set.
struct KnownDeadlines {
  std::optional<std::string_view> slurm_job_end_time;  // SLURM_JOB_END_TIME: seconds since 1970
  std::optional<std::string_view> time_limit;          // --time-limit: "4h"
  // RATOON_TIME_LIMIT_SINCE: the time at which the time limit begins, in seconds since 1970. If the variable
  // is not set, the time limit begins at `began`.
  std::optional<std::string_view> time_limit_since{};
  bool ends_run = false;  // these are the ends of a run on this machine, with all of its processes
  Timestamp began;
  Timestamp now;
  WallTime wall_now;
};
[[nodiscard]] Result<Notices> read_known_deadlines(const KnownDeadlines& ends);

// Parses a grace period (a pod's terminationGracePeriodSeconds or Slurm's KillWait): whole seconds, at most a
// day.
[[nodiscard]] Result<Duration> parse_grace_seconds(std::string_view text);

}  // namespace ratoon::preemption
