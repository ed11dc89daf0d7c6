#include <algorithm>
#include <map>
#include <set>

#include "cli/report/account.h"
#include "cli/report/curves.h"
#include "cli/report/report.h"
#include "operator/local/folder/last_lines.h"

namespace ratoon::cli {
namespace {

constexpr std::size_t kCurvesMax = 6;
constexpr std::size_t kTimelineMarksMax = 400;
constexpr std::size_t kRecoveriesMax = 40;
constexpr std::size_t kCheckpointsMax = 60;
constexpr std::size_t kLastLinesMax = 40;
std::vector<std::pair<std::string, double>> phases_of(const api::RecoveryPhases& p) {
  return {{"detect", p.detect_seconds},         {"decide", p.decide_seconds},
          {"place", p.place_seconds},           {"start", p.start_seconds},
          {"rendezvous", p.rendezvous_seconds}, {"load", p.load_seconds},
          {"first step", p.first_step_seconds}};
}

// Removes some of the marks on the time axis, evenly, so that a reader can still distinguish the others.
std::vector<TimelineMark> thin_marks(std::vector<TimelineMark> marks) {
  const std::size_t every = (marks.size() + kTimelineMarksMax - 1) / kTimelineMarksMax;
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

// If a report would have too many recoveries, keeps only the longest ones, in order of time.
void cut_recoveries(Report& report) {
  auto& all = report.recoveries;
  report.recovery_count = all.size();
  if (all.empty()) return;
  std::ranges::stable_sort(all, std::greater(), &Recovery::total);
  report.median_recovery = (all[(all.size() - 1) / 2].total + all[all.size() / 2].total) / 2;
  all.resize(std::min(all.size(), kRecoveriesMax));
  std::ranges::stable_sort(all, {}, &Recovery::at);
}

// Returns whether the run counts the event as a loss. A process that ends after a handover, on a node that
// gave notice, is not a loss. A process that stopped sending messages counts as a loss even if it never
// failed.
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

// Fills in saves and losses for a run without events. The saves come from the history. Each attempt but the
// last counts as one loss, even if the attempt left no history.
void add_timeline_marks(const RunFacts& facts, double began, Report& report) {
  if (report.saves.empty()) {
    for (const HistoryRow& row : facts.history.saves)
      report.saves.push_back({row.at - began, "step " + std::to_string(row.step) + " was saved"});
  }
  if (!facts.events.empty()) return;
  std::map<std::uint64_t, double> ends;  // the last known moment of each attempt
  for (const HistoryRow& row : known_steps(facts.history)) ends[row.attempt] = row.at - began;
  double before = 0;
  const auto attempts = known_attempts(facts);
  for (const std::uint64_t attempt : attempts) {
    before = ends.contains(attempt) ? ends[attempt] : before;
    if (attempt != *attempts.rbegin())
      report.losses.push_back({before, "attempt " + std::to_string(attempt) + " ended"});
  }
}

// A cluster's job has no events, but its status is never out of date.
void add_job_state(const api::TrainingJobStatus& status, Report& report) {
  report.standing = status.phase == api::JobPhase::kSucceeded   ? "completed"
                    : status.phase == api::JobPhase::kFailed    ? "failed"
                    : status.phase == api::JobPhase::kSuspended ? "suspended"
                                                                : "in progress";
  if (status.phase != api::JobPhase::kRunning) report.message = status.message;
  report.step = status.step.value();
  report.attempts = status.attempt.value();
}

void add_run_state(const RunFacts& facts, Report& report) {
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
  if (last == nullptr && facts.job_time && facts.status) add_job_state(*facts.status, report);
  for (const HistoryRow& row : known_steps(facts.history)) report.step = std::max(report.step, row.step);
  for (const RunEvent& event : facts.events) report.step = std::max(report.step, event.step);
  for (const auto& checkpoint : facts.checkpoints)
    if (checkpoint.state == "complete") report.step = std::max(report.step, checkpoint.step);
  report.attempts = std::max<std::uint64_t>(report.attempts, known_attempts(facts).size());
}

// Adds why the program ended the run early, from the job's status or from the newest checkpoint.
void add_finish_reason(const RunFacts& facts, Report& report) {
  if (facts.status) report.finish_reason = facts.status->finish_reason;
  if (report.finish_reason.empty() && !facts.checkpoints.empty())
    report.finish_reason = facts.checkpoints.front().finish_reason;
}

// Reads the counts of losses from the job's status, because some losses may be missing in events.jsonl.
void count_losses(const RunFacts& facts, Report& report) {
  report.loss_count = report.losses.size();
  if (!facts.status) return;
  report.restarts = facts.status->restarts;
  report.loss_count =
      std::size_t{report.restarts->disruption} + report.restarts->application + report.restarts->hung;
}

// Adds the curve of the training loss first, then the values with the most points.
void add_curves(const RunFacts& facts, double began, Report& report) {
  std::vector<const std::pair<const std::string, std::vector<HistoryRow>>*> named;
  for (const auto& one : facts.history.values) named.push_back(&one);
  std::ranges::stable_sort(named, [](const auto* a, const auto* b) {
    const auto is_loss = [](const auto& name) { return name.find("loss") != std::string::npos; };
    return std::pair(is_loss(a->first), a->second.size()) > std::pair(is_loss(b->first), b->second.size());
  });
  if (named.size() > kCurvesMax) {
    report.missing_data_notes.push_back("Of " + std::to_string(named.size()) + " reported values " +
                                        std::to_string(kCurvesMax) + " are drawn; --csv has all.");
    named.resize(kCurvesMax);
  }
  for (const auto* one : named)
    report.curves.push_back(make_curve(one->first, one->second, began, report.length, report.step));
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

void add_remarks(const RunFacts& facts, const Timeline& timeline, Report& report) {
  if (facts.job_time)
    report.missing_data_notes.emplace_back(
        "A cluster keeps the counts of a job's losses, but only the last disruption and the last failure in "
        "full; the operator's metrics and log have the others.");
  if (facts.events.empty() && !facts.job_time)
    report.missing_data_notes.emplace_back(
        "The run has no events.jsonl: only runs of `ratoon run` have members, nodes and recoveries.");
  const bool are_files_known = !facts.job_time || !facts.history.attempts.empty();
  if (facts.history.steps.empty() && are_files_known)
    report.missing_data_notes.emplace_back(
        "The trainer reported no values (session.report), so there are no curves of them.");
  if (timeline.member_count + 1 > timeline.rows.size() && timeline.member_count > 0)
    report.missing_data_notes.push_back("Of " + std::to_string(timeline.member_count) + " members " +
                                        std::to_string(timeline.rows.size() - 1) + " are drawn.");
  for (const auto& complaint : facts.history.complaints) report.missing_data_notes.push_back(complaint);
  for (const auto& complaint : facts.complaints) report.missing_data_notes.push_back(complaint);
}

}  // namespace

Report make_report(RunFacts facts) {
  Report report;
  report.name = facts.name;
  report.folder = facts.folder;
  const auto [began, ended] = known_time_range(facts);
  report.length = ended - began;
  if (ended > 0) report.began = format_rfc3339(WallTime{from_seconds(began)});
  add_run_state(facts, report);
  report.repeated_step_count = count_repeated_steps(facts);

  Timeline timeline = make_timeline(facts);
  const bool has_failed = report.standing == "failed";
  report.account = make_account(facts, timeline, report.length, has_failed);
  if (has_failed) rename_to_unfinished(timeline);
  add_remarks(facts, timeline, report);
  for (TimelineRow& row : timeline.rows)
    for (TimelineBar& bar : row.bars) bar.begin -= began, bar.end -= began;
  report.rows = std::move(timeline.rows);

  add_curves(facts, began, report);
  report.rate = make_rate_curve(all_steps(facts), began, report.length);
  add_events(facts, began, report);
  add_timeline_marks(facts, began, report);
  add_last_failure(facts, began, report);
  count_losses(facts, report);
  add_finish_reason(facts, report);
  report.losses = thin_marks(std::move(report.losses));
  report.saves = thin_marks(std::move(report.saves));
  cut_recoveries(report);

  report.best = std::move(facts.best);
  report.checkpoint_count = facts.checkpoints.size();
  for (const auto& checkpoint : facts.checkpoints) report.stored_bytes += checkpoint.size_bytes;
  facts.checkpoints.resize(std::min(facts.checkpoints.size(), kCheckpointsMax));
  report.checkpoints = std::move(facts.checkpoints);
  report.samples = std::move(facts.samples);
  return report;
}

}  // namespace ratoon::cli
