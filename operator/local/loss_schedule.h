// LossSchedule: when a run loses which node, by the clock or by a trace of a real cluster. Pure.
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
  bool is_coming = false;
  std::string node;

  friend bool operator==(const TraceEvent&, const TraceEvent&) = default;
};

// Refuses what is no trace, times that go back, nodes that come twice or go without being there.
[[nodiscard]] Result<std::vector<TraceEvent>> parse_trace(std::string_view text);

struct LossPlan {
  std::optional<Duration> every{};         // one of the nodes that members are on
  std::uint64_t seed = 0;                  // which one
  std::vector<TraceEvent> trace{};         // not empty: its nodes, and no others
  double trace_speed = 1;                  // 60: an hour in a minute
  std::optional<double> notice_seconds{};  // of each node that goes; nothing: it goes at once
};

class LossSchedule {
 public:
  LossSchedule() = default;
  LossSchedule(LossPlan plan, Timestamp began) : plan_(std::move(plan)), began_(began) {}

  struct Due {
    std::string node;
    bool is_coming = false;
    const char* asked_by = "every";  // or "trace"
  };
  // What is due by now and was not taken yet. `occupied`: the nodes that members are on.
  [[nodiscard]] std::vector<Due> take(Timestamp now, const std::vector<std::string>& occupied);
  [[nodiscard]] std::optional<Timestamp> next() const;
  [[nodiscard]] std::optional<double> notice_seconds() const { return plan_.notice_seconds; }

 private:
  [[nodiscard]] Timestamp time_of(const TraceEvent& event) const;

  LossPlan plan_;
  Timestamp began_{};
  std::uint64_t ticks_ = 0;  // of `every`, passed
  std::uint64_t taken_ = 0;  // nodes that `every` took
  std::size_t events_ = 0;   // of the trace, taken
};

}  // namespace ratoon::local
