// LossSchedule: decides which simulated node a run loses and when, at regular intervals or as in a recorded
// trace. Pure.
//
//   0,add,node1            a trace: milliseconds since the start, what happened, the node's name
//   2040000,remove,node1
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "base/core/clock.h"

namespace ratoon::local {

struct TraceEvent {
  Duration at{0};  // since the start
  bool is_added = false;
  std::string node;

  friend bool operator==(const TraceEvent&, const TraceEvent&) = default;
};

// Parses a trace. Refuses malformed lines, decreasing times, a node that is added twice, and the removal of a
// node that does not exist.
[[nodiscard]] Result<std::vector<TraceEvent>> parse_trace(std::string_view text);

struct LossPlan {
  std::optional<Duration> every{};         // one of the nodes with members is lost in each such interval
  std::uint64_t seed = 0;                  // chooses the node
  std::vector<TraceEvent> trace{};         // not empty: the run has exactly the nodes of the trace
  double trace_speed = 1;                  // 60: an hour of the trace in a minute
  std::optional<double> notice_seconds{};  // for each lost node; nothing: the node ends at once
};

class LossSchedule {
 public:
  LossSchedule() = default;
  LossSchedule(LossPlan plan, Timestamp began) : plan_(std::move(plan)), schedule_began_(began) {}

  struct DueNodeEvent {
    std::string node;
    bool is_added = false;
    const char* source = "every";  // or "trace"
  };
  // Returns events that are due and that no earlier call returned. `occupied`: the nodes that have members.
  [[nodiscard]] std::vector<DueNodeEvent> take_due_events(Timestamp now,
                                                          const std::vector<std::string>& occupied);
  [[nodiscard]] std::optional<Timestamp> next_event_time() const;
  [[nodiscard]] std::optional<double> notice_seconds() const { return plan_.notice_seconds; }

 private:
  [[nodiscard]] Timestamp time_of(const TraceEvent& event) const;

  LossPlan plan_;
  Timestamp schedule_began_{};
  std::uint64_t intervals_passed_ = 0;     // intervals of `every` that have passed
  std::uint64_t nodes_chosen_ = 0;         // nodes that `every` has chosen
  std::size_t trace_events_returned_ = 0;  // events of the trace that were returned
};

}  // namespace ratoon::local
