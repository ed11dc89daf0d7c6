#include "cli/report/timeline.h"

#include <algorithm>
#include <map>
#include <optional>

#include "cli/report/downsample.h"
#include "cli/report/ledger_bars.h"

namespace ratoon::cli {
namespace {

constexpr std::size_t kRowsMax = 64;
constexpr double kBarsMax = 4000;
constexpr std::string_view kFailedPhase = "Failed";  // the phase of a job

double seconds_of(const RunEvent& event) {
  return seconds(event.at.since_epoch);
}

struct World {
  std::uint64_t attempt = 0;
  double begin = 0;
  double end = 0;
};

struct ProcessGroupSpan {  // the time of one process group of a member on a node
  std::string member;
  std::string node;
  double begin = 0;
  double end = 0;
};

using TimeSpan = std::pair<double, double>;

struct RunnerLifetime {  // of a runner
  TimeSpan span;
  bool ended_well = false;  // it ended by itself, and the job had not failed
};

// Collects from a run's events the times during which `ratoon run`, worlds and each member's processes ran.
class EventReplay {
 public:
  EventReplay(const RunFacts& facts, double end) : end_(end) {
    for (const RunEvent& event : facts.events) hear(event);
    close(end);
  }

  std::vector<RunnerLifetime> lives;
  std::vector<World> worlds;
  std::map<std::pair<std::string, std::uint64_t>, std::vector<ProcessGroupSpan>> stays;  // by role and index

 private:
  void hear(const RunEvent& event) {
    const double at = seconds_of(event);
    if (event.kind == "run") {
      close(last_);  // a killed runner writes no "end"
      life_ = at;
    }
    if (event.kind == "world") {
      close_world(at);
      world_ = World{.attempt = event.attempt, .begin = at};
    }
    if (event.kind == "apart") close_world(at);
    if (event.kind == "member") take_member_event(event, at);
    if (event.kind == "end") close(at, event.phase != kFailedPhase);
    last_ = at;
  }

  void take_member_event(const RunEvent& event, double at) {
    const auto living = living_.find(event.member);
    if (event.state == "running" && living == living_.end()) {
      living_[event.member] = {std::pair(event.role, event.index), {event.member, event.node, at, at}};
    } else if (event.state != "running" && event.state != "deleting" && living != living_.end()) {
      living->second.second.end = at;
      stays[living->second.first].push_back(std::move(living->second.second));
      living_.erase(living);
    }
  }

  void close_world(double at) {
    if (!world_) return;
    world_->end = at;
    worlds.push_back(*world_);
    world_.reset();
  }

  void close(double at, bool ended_well = false) {
    close_world(at);
    for (auto& [name, living] : living_) {
      living.second.end = at;
      stays[living.first].push_back(std::move(living.second));
    }
    living_.clear();
    if (life_) lives.push_back({{*life_, at}, ended_well});
    life_.reset();
  }

  double end_;
  double last_ = 0;
  std::optional<double> life_;
  std::optional<World> world_;
  std::map<std::string, std::pair<std::pair<std::string, std::uint64_t>, ProcessGroupSpan>> living_;
};

// Returns the known steps of each attempt: from the history or, if it has none, from the events.
std::map<std::uint64_t, std::vector<HistoryRow>> steps_by_attempt(const RunFacts& facts) {
  std::map<std::uint64_t, std::vector<HistoryRow>> steps;
  for (const HistoryRow& row : known_steps(facts.history)) steps[row.attempt].push_back(row);
  for (const RunEvent& event : facts.events) {
    if (event.kind != "step") continue;
    steps[event.attempt].push_back({.at = seconds_of(event), .attempt = event.attempt, .step = event.step});
  }
  for (auto& [attempt, rows] : steps)
    std::ranges::stable_sort(rows, [](const HistoryRow& a, const HistoryRow& b) { return a.at < b.at; });
  return steps;
}

// Without events, the world of an attempt counts as running from the attempt's first known step to its last
// known step.
std::vector<World> worlds_of_steps(const std::map<std::uint64_t, std::vector<HistoryRow>>& steps) {
  std::vector<World> worlds;
  for (const auto& [attempt, rows] : steps)
    worlds.push_back({.attempt = attempt, .begin = rows.front().at, .end = rows.back().at});
  return worlds;
}

void add_world(const World& world, const std::map<std::uint64_t, std::vector<HistoryRow>>& steps,
               std::uint64_t& newest_step, std::vector<TimelineBar>& run) {
  double first = world.begin;
  double caught_up = world.begin;
  std::uint64_t newest = newest_step;
  const auto rows = steps.find(world.attempt);
  if (rows == steps.end() && !steps.empty()) {
    first = caught_up = world.end;  // it made no step; programs without the agent report none at all
  } else if (rows != steps.end()) {
    first = std::clamp(rows->second.front().at, world.begin, world.end);
    caught_up = first;
    for (const HistoryRow& row : rows->second) {
      if (row.step <= newest_step) caught_up = std::clamp(row.at, caught_up, world.end);
      newest = std::max(newest, row.step);
    }
  }
  newest_step = newest;
  const std::string attempt = "attempt " + std::to_string(world.attempt);
  run.push_back({world.begin, first, "restarting", attempt + " loads and makes its first step"});
  run.push_back({first, caught_up, "recomputed", attempt + " repeats steps"});
  run.push_back({caught_up, world.end, "useful", attempt});
}

// Puts `filler` into every gap between the bars.
std::vector<TimelineBar> fill_gaps(std::vector<TimelineBar> bars, TimeSpan span, const TimelineBar& filler) {
  std::ranges::stable_sort(bars,
                           [](const TimelineBar& a, const TimelineBar& b) { return a.begin < b.begin; });
  std::vector<TimelineBar> whole;
  double reached = span.first;
  for (TimelineBar& bar : bars) {
    bar.begin = std::max(bar.begin, reached);
    bar.end = std::min(bar.end, span.second);
    if (bar.end <= bar.begin) continue;
    if (bar.begin > reached) whole.push_back({reached, bar.begin, filler.part, filler.what});
    reached = bar.end;
    whole.push_back(std::move(bar));
  }
  if (reached < span.second) whole.push_back({reached, span.second, filler.part, filler.what});
  return whole;
}

// Time at the beginning and end of a `ratoon run` counts as "starting" and "ending", not as a restart.
void mark_start_and_end(std::vector<TimelineBar>& life, bool ended_well) {
  const auto is_restarting = [](const TimelineBar& bar) { return bar.part == "restarting"; };
  for (auto bar = life.begin(); bar != life.end() && is_restarting(*bar); ++bar) bar->part = "starting";
  if (ended_well && !life.empty() && is_restarting(life.back())) {
    life.back().part = "ending";
    life.back().what = "all steps are trained or saved";
  }
}

std::vector<TimelineBar> clip_to_span(const std::vector<TimelineBar>& bars, const ProcessGroupSpan& stay) {
  std::vector<TimelineBar> cut;
  for (const TimelineBar& bar : bars) {
    const double begin = std::max(bar.begin, stay.begin);
    const double end = std::min(bar.end, stay.end);
    if (begin < end)
      cut.push_back({begin, end, bar.part, stay.member + " on " + stay.node + ": " + bar.what});
  }
  return cut;
}

}  // namespace

std::pair<double, double> known_time_range(const RunFacts& facts) {
  std::vector<double> moments;
  for (const auto* rows : {&known_steps(facts.history), &facts.history.saves}) {
    for (const HistoryRow& row : *rows) moments.push_back(row.at);
  }
  for (const RunEvent& event : facts.events) moments.push_back(seconds_of(event));
  if (facts.job_time)
    for (const WallTime& at : {facts.job_time->begin, facts.job_time->end})
      moments.push_back(seconds(at.since_epoch));
  if (moments.empty()) {
    for (const auto& checkpoint : facts.checkpoints)
      if (checkpoint.saved_at) moments.push_back(seconds(checkpoint.saved_at->since_epoch));
  }
  if (moments.empty()) return {0, 0};
  const auto [first, last] = std::ranges::minmax(moments);
  return {first, last};
}

Timeline make_timeline(const RunFacts& facts) {
  const TimeSpan span = known_time_range(facts);
  const auto steps = steps_by_attempt(facts);
  EventReplay story(facts, span.second);
  if (story.worlds.empty()) story.worlds = worlds_of_steps(steps);

  Timeline timeline;
  std::vector<TimelineBar> bars;
  bars = ledger_bars(facts.events, span.second);
  timeline.is_from_ledger = !bars.empty();
  std::uint64_t newest_step = 0;
  if (bars.empty())
    for (const World& world : story.worlds) add_world(world, steps, newest_step, bars);
  if (story.lives.empty() && !story.worlds.empty()) story.lives.push_back({span});
  std::vector<TimelineBar> lives;
  for (const auto& [life, ended_well] : story.lives) {
    std::vector<TimelineBar> inside;
    for (const TimelineBar& bar : bars)
      if (bar.begin < life.second && bar.end > life.first) inside.push_back(bar);
    inside = fill_gaps(std::move(inside), life, {0, 0, "restarting", "no world trains"});
    mark_start_and_end(inside, ended_well);
    std::ranges::move(inside, std::back_inserter(lives));
  }
  if (!lives.empty()) timeline.run = fill_gaps(std::move(lives), span, {0, 0, "away", "nothing runs"});

  timeline.member_count = story.stays.size();
  const double rows = static_cast<double>(std::min(kRowsMax, story.stays.size()) + 1);
  const double shortest = (span.second - span.first) * rows / kBarsMax;
  if (!timeline.run.empty()) timeline.rows.push_back({"the run", downsample(timeline.run, shortest)});
  for (const auto& [member, stays] : story.stays) {
    if (timeline.rows.size() > kRowsMax) break;
    std::vector<TimelineBar> row;
    for (const ProcessGroupSpan& stay : stays)
      for (TimelineBar& bar : clip_to_span(timeline.run, stay)) row.push_back(std::move(bar));
    row = fill_gaps(std::move(row), span, {0, 0, "absent", "no process"});
    timeline.rows.push_back(
        {member.first + " " + std::to_string(member.second), downsample(std::move(row), shortest)});
  }
  return timeline;
}

PartSeconds sum_by_part(const std::vector<TimelineBar>& run) {
  PartSeconds account;
  for (const TimelineBar& bar : run) account[bar.part] += bar.end - bar.begin;
  return account;
}

}  // namespace ratoon::cli
