// Notices: news that this process will be ended, from whom, and when. Several may hold at once, any may be
// taken back; the first to come true decides.
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
  bool is_sudden = true;      // false: known since the process began, no reason to save at once
  std::string why{};          // for people: "SIGTERM", "the time limit of 4h"
  Duration margin = kMargin;  // so long before it the process leaves

  friend bool operator==(const Notice&, const Notice&) = default;
};

class Notices {
 public:
  // News of the same source replaces what it said before. Returns whether the first deadline is now nearer.
  bool give(std::string_view source, Notice notice);
  // Returns whether there was one. A signal cannot be taken back; an order can.
  bool retract(std::string_view source);

  [[nodiscard]] const Notice* find(std::string_view source) const;  // nullptr: it says nothing
  [[nodiscard]] const Notice* first() const;                        // nullptr: nobody said anything
  [[nodiscard]] std::optional<Duration> left(Timestamp now) const;

 private:
  std::map<std::string, Notice, std::less<>> notices_;
};

// What a process can know of its end when it begins; texts are as the environment or a flag has them, nullopt
// where nobody set them.
struct KnownEnds {
  std::optional<std::string_view> slurm_job_end_time;  // SLURM_JOB_END_TIME: seconds since 1970
  std::optional<std::string_view> time_limit;          // --time-limit: "4h", from when the process began
  Timestamp began;
  Timestamp now;
  WallTime wall_now;
};
[[nodiscard]] Result<Notices> read_known_ends(const KnownEnds& ends);

// Of a pod's terminationGracePeriodSeconds, or Slurm's KillWait: whole seconds, up to a day.
[[nodiscard]] Result<Duration> parse_grace_seconds(std::string_view text);

}  // namespace ratoon::preemption
