#include "operator/local/control/loss_schedule.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>

#include <ratoon/counter_random.h>

#include "operator/local/members/node_pool.h"

namespace ratoon::local {
namespace {

constexpr std::int64_t kMillisMax = 10LL * 365 * 24 * 3600 * 1000;

std::string_view take_field(std::string_view& line) {
  const std::size_t comma = std::min(line.find(','), line.size());
  const std::string_view field = line.substr(0, comma);
  line.remove_prefix(std::min(comma + 1, line.size()));
  return field;
}

Result<TraceEvent> parse_trace_line(std::string_view line) {
  const Error unlike(ErrorKind::kInvalid,
                     "expected '<milliseconds>,add|remove,<node>', found '" + std::string(line) + "'");
  const std::string_view time = take_field(line);
  std::int64_t millis = -1;
  const auto [end, code] = std::from_chars(time.data(), time.data() + time.size(), millis);
  if (code != std::errc() || end != time.data() + time.size() || millis < 0 || millis > kMillisMax)
    return unlike;
  const std::string_view what = take_field(line);
  if (what != "add" && what != "remove") return unlike;
  if (auto sound = NodePool::check_name(line); !sound) return sound.error();
  return TraceEvent{
      .at = std::chrono::milliseconds(millis), .is_added = what == "add", .node = std::string(line)};
}

// Checks that the event of a trace is consistent with the events before it.
Result<void> check_event_order(const TraceEvent& event, const std::vector<TraceEvent>& before,
                               std::set<std::string>& there) {
  if (!before.empty() && event.at < before.back().at)
    return Error(ErrorKind::kInvalid, "its time is before that of the event above it");
  const bool is_other = event.is_added ? there.insert(event.node).second : there.erase(event.node) == 1;
  if (is_other) return {};
  return Error(ErrorKind::kInvalid,
               "node '" + event.node + (event.is_added ? "' exists already" : "' does not exist"));
}

}  // namespace

Result<std::vector<TraceEvent>> parse_trace(std::string_view text) {
  std::vector<TraceEvent> events;
  std::set<std::string> there;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const std::string where = "line " + std::to_string(number);
    auto event = parse_trace_line(line);
    if (!event) return event.error().with_context(where);
    if (auto fits = check_event_order(*event, events, there); !fits) return fits.error().with_context(where);
    events.push_back(*std::move(event));
  }
  if (events.empty())
    return Error(ErrorKind::kInvalid, "the trace has no event: expected lines like '0,add,node1'");
  return events;
}

Timestamp LossSchedule::time_of(const TraceEvent& event) const {
  return schedule_began_ + from_seconds(seconds(event.at) / plan_.trace_speed);
}

std::vector<LossSchedule::DueNodeEvent> LossSchedule::take_due_events(
    Timestamp now, const std::vector<std::string>& occupied) {
  std::vector<DueNodeEvent> due;
  for (; trace_events_returned_ < plan_.trace.size() && time_of(plan_.trace[trace_events_returned_]) <= now;
       ++trace_events_returned_) {
    const TraceEvent& event = plan_.trace[trace_events_returned_];
    due.push_back({.node = event.node, .is_added = event.is_added, .source = "trace"});
  }
  if (!plan_.every) return due;
  // If `ratoon run` stalled for some time, it skips the losses that were due in this time.
  const auto ticks = static_cast<std::uint64_t>((now - schedule_began_) / *plan_.every);
  if (ticks > intervals_passed_ && !occupied.empty()) {
    // The n-th choice depends on n, and not on the number of elapsed intervals: a busy machine skips
    // intervals, but the same seed must choose the same nodes.
    CounterRandom random(plan_.seed, "reclaim", ++nodes_chosen_);
    due.push_back({.node = occupied[random.below(occupied.size())]});
  }
  intervals_passed_ = std::max(intervals_passed_, ticks);
  return due;
}

std::optional<Timestamp> LossSchedule::next_event_time() const {
  std::optional<Timestamp> next;
  if (trace_events_returned_ < plan_.trace.size()) next = time_of(plan_.trace[trace_events_returned_]);
  if (!plan_.every) return next;
  const Timestamp tick = schedule_began_ + *plan_.every * static_cast<Duration::rep>(intervals_passed_ + 1);
  return std::min(tick, next.value_or(tick));
}

}  // namespace ratoon::local
