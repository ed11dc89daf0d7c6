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

Result<TraceEvent> parse_event(std::string_view line) {
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
      .at = std::chrono::milliseconds(millis), .is_coming = what == "add", .node = std::string(line)};
}

// Checks that the event of a trace is consistent with the events before it.
Result<void> follow(const TraceEvent& event, const std::vector<TraceEvent>& before,
                    std::set<std::string>& there) {
  if (!before.empty() && event.at < before.back().at)
    return Error(ErrorKind::kInvalid, "its time is before that of the event above it");
  const bool is_other = event.is_coming ? there.insert(event.node).second : there.erase(event.node) == 1;
  if (is_other) return {};
  return Error(ErrorKind::kInvalid,
               "node '" + event.node + (event.is_coming ? "' exists already" : "' does not exist"));
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
    auto event = parse_event(line);
    if (!event) return event.error().with_context(where);
    if (auto fits = follow(*event, events, there); !fits) return fits.error().with_context(where);
    events.push_back(*std::move(event));
  }
  if (events.empty())
    return Error(ErrorKind::kInvalid, "the trace has no event: expected lines like '0,add,node1'");
  return events;
}

Timestamp LossSchedule::time_of(const TraceEvent& event) const {
  return began_ + from_seconds(seconds(event.at) / plan_.trace_speed);
}

std::vector<LossSchedule::Due> LossSchedule::take(Timestamp now, const std::vector<std::string>& occupied) {
  std::vector<Due> due;
  for (; events_ < plan_.trace.size() && time_of(plan_.trace[events_]) <= now; ++events_) {
    const TraceEvent& event = plan_.trace[events_];
    due.push_back({.node = event.node, .is_coming = event.is_coming, .asked_by = "trace"});
  }
  if (!plan_.every) return due;
  // If `ratoon run` stalled for a while, it skips the losses that were due in that time.
  const auto ticks = static_cast<std::uint64_t>((now - began_) / *plan_.every);
  if (ticks > ticks_ && !occupied.empty()) {
    // The random choice of the n-th lost node depends on n and not on the number of passed intervals, because
    // a busy machine skips some intervals.
    CounterRandom random(plan_.seed, "reclaim", ++taken_);
    due.push_back({.node = occupied[random.below(occupied.size())]});
  }
  ticks_ = std::max(ticks_, ticks);
  return due;
}

std::optional<Timestamp> LossSchedule::next() const {
  std::optional<Timestamp> next;
  if (events_ < plan_.trace.size()) next = time_of(plan_.trace[events_]);
  if (!plan_.every) return next;
  const Timestamp tick = began_ + *plan_.every * static_cast<Duration::rep>(ticks_ + 1);
  return std::min(tick, next.value_or(tick));
}

}  // namespace ratoon::local
