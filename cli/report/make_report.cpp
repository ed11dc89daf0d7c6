#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "cli/report/curves.h"
#include "cli/report/report.h"
#include "cli/report/timeline.h"
#include "operator/local/folder/last_lines.h"

namespace ratoon::cli {
namespace {

constexpr std::size_t kCurvesMax = 6;
constexpr std::size_t kMarksMax = 400;
constexpr std::size_t kRecoveriesMax = 40;
constexpr std::size_t kCheckpointsMax = 60;
constexpr std::size_t kLastLinesMax = 40;
// The names are the parts of docs/reference/history.md. A row of the ledger has other fields too.
constexpr std::array kLedgerParts = {"useful",     "recomputed",           "save_stall", "data_wait",
                                     "validation", "waiting_for_capacity", "restarting", "hung"};

std::vector<std::pair<std::string, double>> phases_of(const api::RecoveryPhases& p) {
  return {{"detect", p.detect_seconds},         {"decide", p.decide_seconds},
          {"place", p.place_seconds},           {"start", p.start_seconds},
          {"rendezvous", p.rendezvous_seconds}, {"load", p.load_seconds},
          {"first step", p.first_step_seconds}};
}

// Selects evenly as many marks as a reader can distinguish.
std::vector<TimelineMark> thin_marks(std::vector<TimelineMark> marks) {
  const std::size_t every = (marks.size() + kMarksMax - 1) / kMarksMax;
  if (every <= 1) return marks;
  std::vector<TimelineMark> thinned;
  for (std::size_t i = 0; i < marks.size(); i += every) thinned.push_back(std::move(marks[i]));
  return thinned;
}

void add_recovery(const api::Disruption& disruption, double began, Report& report) {
  report.recoveries.push_back({.at = seconds(disruption.time.since_epoch) - began,
                               .member = disruption.member,
                               .node = disruption.node,
                               .reason = disruption.reason,
                               .lost_steps = disruption.lost_steps,
                               .phases = phases_of(disruption.phases),
                               .total = disruption.phases.total_seconds()});
}

void add_last_failure(const RunFacts& facts, double began, Report& report) {
  if (!facts.status || !facts.status->last_failure) return;
  const api::MemberFailure& failure = *facts.status->last_failure;
  report.last_failure = {.at = seconds(failure.time.since_epoch) - began,
                         .failure = failure,
                         .lines = local::last_lines_in(failure.last_lines, kLastLinesMax)};
}

// Keeps the longest recoveries, in order of time.
void cut_recoveries(Report& report) {
  auto& all = report.recoveries;
  report.recoveries_in_all = all.size();
  if (all.empty()) return;
  std::ranges::stable_sort(all, std::greater(), &Recovery::total);
  report.median_recovery = (all[(all.size() - 1) / 2].total + all[all.size() / 2].total) / 2;
  all.resize(std::min(all.size(), kRecoveriesMax));
  std::ranges::stable_sort(all, {}, &Recovery::at);
}

// Whether the run counts the event as a loss. Not every process that ends is a loss: on a node with notice a
// process hands over. A silent process is a loss although it never failed.
bool is_loss(const RunEvent& news) {
  return news.reason == "MemberLost" || news.reason == "WorldHung";
}

void add_events(const RunFacts& facts, double began, Report& report) {
  for (const RunEvent& event : facts.events) {
    const double at = seconds(event.at.since_epoch) - began;
    if (event.kind == "news" && is_loss(event)) report.losses.push_back({at, event.message});
    if (event.kind == "checkpoint")
      report.saves.push_back({at, "step " + std::to_string(event.step) + " is durable"});
    if (event.kind == "recovery" && event.disruption) add_recovery(*event.disruption, began, report);
  }
  if (facts.events.empty() && facts.status && facts.status->last_disruption)
    add_recovery(*facts.status->last_disruption, began, report);
}

// For a run without events: the history has its saves, and each new attempt means that the attempt before was
// lost.
void add_past(const RunFacts& facts, double began, Report& report) {
  if (report.saves.empty()) {
    for (const HistoryRow& row : facts.history.saves)
      report.saves.push_back({row.at - began, "step " + std::to_string(row.step) + " was saved"});
  }
  if (!facts.events.empty()) return;
  std::uint64_t attempt = 0;
  double before = 0;
  for (const HistoryRow& row : known_steps(facts.history)) {
    if (attempt != 0 && row.attempt > attempt)
      report.losses.push_back({before - began, "attempt " + std::to_string(attempt) + " ended"});
    attempt = std::max(attempt, row.attempt);
    before = row.at;
  }
}

std::uint64_t count_steps_made_again(const RunFacts& facts) {
  const auto of_history = static_cast<std::uint64_t>(
      std::ranges::count_if(facts.history.steps, [](const HistoryRow& row) { return !row.is_kept; }));
  std::uint64_t of_events = 0;
  for (const RunEvent& event : facts.events)
    if (event.kind == "recovery" && event.disruption) of_events += event.disruption->lost_steps;
  return std::max(of_history, of_events);  // a killed process loses the last second of its history
}

void add_standing(const RunFacts& facts, Report& report) {
  const RunEvent* last = nullptr;
  for (const RunEvent& event : facts.events)
    if (event.kind == "run" || event.kind == "end") last = &event;
  if (last != nullptr && last->kind == "end") {
    report.standing = last->phase == "Succeeded" ? "completed"
                      : last->phase == "Failed"  ? "failed"
                                                 : "stopped";
    if (last->phase != "Running") report.message = last->message;  // of a stopped run it is out of date
  } else if (last != nullptr) {
    report.standing = "in progress, or killed";
  }
  std::set<std::uint64_t> attempts = facts.history.attempts;
  for (const HistoryRow& row : known_steps(facts.history)) report.step = std::max(report.step, row.step);
  for (const RunEvent& event : facts.events) {
    if (event.attempt > 0) attempts.insert(event.attempt);
    report.step = std::max(report.step, event.step);
  }
  for (const auto& checkpoint : facts.checkpoints) {
    attempts.insert(checkpoint.attempt);
    if (checkpoint.state == "complete") report.step = std::max(report.step, checkpoint.step);
  }
  report.attempts = attempts.size();
}

// The loss first, then the values with the most points.
void add_curves(const RunFacts& facts, double began, Report& report) {
  std::vector<const std::pair<const std::string, std::vector<HistoryRow>>*> named;
  for (const auto& one : facts.history.values) named.push_back(&one);
  std::ranges::stable_sort(named, [](const auto* a, const auto* b) {
    const auto is_loss = [](const auto& name) { return name.find("loss") != std::string::npos; };
    return std::pair(is_loss(a->first), a->second.size()) > std::pair(is_loss(b->first), b->second.size());
  });
  if (named.size() > kCurvesMax) {
    report.remarks.push_back("Of " + std::to_string(named.size()) + " reported values " +
                             std::to_string(kCurvesMax) + " are drawn; --csv has all.");
    named.resize(kCurvesMax);
  }
  for (const auto* one : named)
    report.curves.push_back(make_curve(one->first, one->second, began, report.length));
}

std::vector<HistoryRow> all_steps(const RunFacts& facts) {
  if (!facts.history.steps.empty() || facts.events.empty()) return known_steps(facts.history);
  std::vector<HistoryRow> steps;
  for (const RunEvent& event : facts.events) {
    if (event.kind != "step" && event.kind != "checkpoint") continue;
    steps.push_back({.at = seconds(event.at.since_epoch), .attempt = event.attempt, .step = event.step});
  }
  return steps;
}

void add_account(const RunFacts& facts, const std::vector<TimelineBar>& run, Report& report) {
  report.account = sum_by_part(run, facts.history.saves);
  if (facts.history.ledger.empty()) return;
  const auto drawn = std::exchange(report.account, {});
  double rest = report.length;
  for (const char* part : kLedgerParts) {
    const auto spent = facts.history.ledger.find(part);
    if (spent != facts.history.ledger.end() && spent->second > 0)
      report.account.emplace_back(part, spent->second);
    if (spent != facts.history.ledger.end()) rest -= spent->second;
  }
  // The ranks write the ledger from the start of the first rank on, so the time before and after is not in
  // it.
  for (const auto& [part, seconds] : drawn) {
    if (part != "starting" && part != "ending" && part != "away") continue;
    const double spent = std::min(seconds, rest);
    if (spent <= 0) continue;
    report.account.emplace_back(part, spent);
    rest -= spent;
  }
}

void add_remarks(const RunFacts& facts, const Timeline& timeline, Report& report) {
  if (facts.events.empty())
    report.remarks.emplace_back(
        "The run has no events.jsonl: only runs of `ratoon run` have members, nodes and recoveries.");
  if (facts.history.steps.empty())
    report.remarks.emplace_back(
        "The trainer reported no values (session.report), so there are no curves of them.");
  if (timeline.members_in_all + 1 > timeline.rows.size() && timeline.members_in_all > 0)
    report.remarks.push_back("Of " + std::to_string(timeline.members_in_all) + " members " +
                             std::to_string(timeline.rows.size() - 1) + " are drawn.");
  for (const auto& complaint : facts.history.complaints) report.remarks.push_back(complaint);
  for (const auto& complaint : facts.complaints) report.remarks.push_back(complaint);
}

}  // namespace

Report make_report(RunFacts facts) {
  Report report;
  report.name = facts.name;
  report.folder = facts.folder;
  const auto [began, ended] = known_time(facts);
  report.length = ended - began;
  if (ended > 0) report.began = format_rfc3339(WallTime{from_seconds(began)});
  add_standing(facts, report);
  report.steps_made_again = count_steps_made_again(facts);

  Timeline timeline = make_timeline(facts);
  add_account(facts, timeline.run, report);
  add_remarks(facts, timeline, report);
  for (TimelineRow& row : timeline.rows)
    for (TimelineBar& bar : row.bars) bar.begin -= began, bar.end -= began;
  report.rows = std::move(timeline.rows);

  add_curves(facts, began, report);
  report.rate = make_rate(all_steps(facts), began, report.length);
  add_events(facts, began, report);
  add_past(facts, began, report);
  add_last_failure(facts, began, report);
  report.losses_in_all = report.losses.size();
  report.losses = thin_marks(std::move(report.losses));
  report.saves = thin_marks(std::move(report.saves));
  cut_recoveries(report);

  report.checkpoints_in_all = facts.checkpoints.size();
  for (const auto& checkpoint : facts.checkpoints) report.stored_bytes += checkpoint.size_bytes;
  facts.checkpoints.resize(std::min(facts.checkpoints.size(), kCheckpointsMax));
  report.checkpoints = std::move(facts.checkpoints);
  report.samples = std::move(facts.samples);
  return report;
}

}  // namespace ratoon::cli
