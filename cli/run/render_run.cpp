#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <utility>

#include "base/core/count_with_noun.h"
#include "cli/run/run_view.h"
#include "cli/text/text_format.h"

namespace ratoon::cli {
namespace {

using Row = std::vector<std::string>;

constexpr std::size_t kRecoveriesShown = 5;
constexpr std::size_t kTimeOfDayOffset = 11;  // in 2026-11-21T11:38:21.250Z
constexpr std::size_t kTimeOfDayLength = 8;

std::string format_number(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string time_of_day(WallTime time) {
  return format_rfc3339(time).substr(kTimeOfDayOffset, kTimeOfDayLength);
}

constexpr const char* kStoppedPhase = "Stopped";

bool is_in_progress(const RunView& view) {
  return view.is_running && view.job.status.phase == api::JobPhase::kRunning;
}

std::string phase_text(const RunView& view) {
  const auto phase = view.job.status.phase;
  const std::string name(name_of(phase));
  return view.is_running || api::is_over(phase) ? name : kStoppedPhase;
}

std::string world_text(const RunView& view) {
  const auto& status = view.job.status;
  std::string text = "attempt " + std::to_string(status.attempt.value());
  if (is_in_progress(view)) text += ", " + count_with_noun(status.world_size, "process", "processes");
  return text;
}

std::string position_text(const RunView& view) {
  std::string text = "step " + std::to_string(view.job.status.step.value());
  if (view.total == 0) return text;
  if (view.unit == "step") {
    text += " of " + std::to_string(view.total);
  } else {
    text += ", " + view.unit + " " + std::to_string(view.position) + " of " + std::to_string(view.total);
  }
  const double share = static_cast<double>(view.position) / static_cast<double>(view.total);
  return text + " (" + std::to_string(static_cast<int>(std::min(share, 1.0) * 100)) + " %)";
}

std::string rate_text(const RunView& view) {
  std::string text;
  if (is_in_progress(view) && view.steps_per_second)
    text += format_number("  %.3g steps/s", *view.steps_per_second);
  if (is_in_progress(view) && view.seconds_left) text += "  " + duration_text(*view.seconds_left) + " left";
  if (view.loss) text += format_number("  loss %.4g", *view.loss);
  return text;
}

std::string durable_step_text(const RunView& view) {
  const auto& last = view.job.status.last_checkpoint;
  return last ? "step " + std::to_string(last->step.value()) : std::string("nothing yet");
}

// Describes the newest durable checkpoint: its storage tier (such as "volume") and its digest.
std::string durable_checkpoint_text(const RunView& view) {
  constexpr std::size_t kDigestShown = 16;
  const auto& status = view.job.status;
  if (!status.last_checkpoint) return durable_step_text(view);
  const std::string& tier = status.last_checkpoint_tier;
  return durable_step_text(view) + "  " + (tier.empty() ? "" : tier + " ") +
         status.last_checkpoint->digest.substr(0, kDigestShown);
}

std::string failure_text(const api::MemberFailure& failure) {
  std::string text = time_of_day(failure.time) + " " + failure.member;
  if (!failure.node.empty()) text += " on " + failure.node;
  text += ": " + failure.reason;
  return failure.exception.empty() ? text : text + ": " + failure.exception;
}

double median_seconds(const std::vector<RunView::Recovery>& recoveries) {
  std::vector<double> all;
  for (const auto& recovery : recoveries) all.push_back(recovery.seconds);
  std::ranges::sort(all);
  const std::size_t half = all.size() / 2;
  return all.size() % 2 == 1 ? all[half] : (all[half - 1] + all[half]) / 2;
}

std::string describe_losses(const RunView& view) {
  const auto& restarts = view.job.status.restarts;
  std::string text = losses_text(restarts);
  if (restarts.ignored != 0) text += " (" + std::to_string(restarts.ignored) + " that cannot fail the job)";
  if (view.injected_losses != 0) text += ", " + std::to_string(view.injected_losses) + " on purpose";
  if (view.recoveries.empty()) return text;
  text += format_number("; recovered in %.2f s", view.recoveries.back().seconds);
  if (view.recoveries.size() > 1)
    text += format_number(", median %.2f s", median_seconds(view.recoveries)) + " of " +
            std::to_string(view.recoveries.size());
  return text;
}

// Returns the text in column STATE of a member's row; finds the member in the job's status by its name.
std::string member_state_text(const RunView& view, const RunView::Member& member) {
  const auto ended = [&](const std::string& phase) {  // members' processes end with their runner
    return view.is_running || phase != "Running" ? phase : "Gone";
  };
  for (const auto& m : view.job.status.members) {
    const JobKey key = api::key_of(view.job);
    if (member.name == member_name(key, m.role, m.index, m.incarnation))
      return m.is_completed ? "Completed" : m.is_leaving() ? "Leaving" : ended(member.phase);
    if (m.is_leaving() && member.name == member_name(key, m.role, m.index, m.successor)) return "Taking over";
  }
  return ended(member.phase);
}

std::string node_state_text(const RunView& view, const RunView::Node& node, WallTime now) {
  if (node.ends_at) return "goes in " + duration_text(seconds(node.ends_at->since_epoch - now.since_epoch));
  for (const auto& suspect : view.job.status.suspect_nodes)
    if (suspect.name == node.name && suspect.until > now)
      return "avoided for " + duration_text(seconds(suspect.until.since_epoch - now.since_epoch));
  return "";
}

// Returns the addresses of a member's /metrics: its processes have consecutive ports.
std::string metrics_addresses_of(const RunView& view, const RunView::Member& member) {
  const auto& ports = member.metrics_ports;
  if (!view.is_running || ports.empty()) return "";
  const std::string first = "127.0.0.1:" + std::to_string(ports.front());
  return ports.size() == 1 ? first : first + "-" + std::to_string(ports.back());
}

std::vector<Row> node_rows(const RunView& view, WallTime now) {
  const bool has_metrics = std::ranges::any_of(
      view.members, [&](const auto& member) { return !metrics_addresses_of(view, member).empty(); });
  std::vector<Row> rows = {{"NODE", "", "MEMBER", "STATE"}};
  if (has_metrics) rows.back().push_back("METRICS");
  const auto add = [&](const std::string& node, const std::string& standing) {
    bool is_empty = true;
    for (const auto& member : view.members) {
      if (member.node != node) continue;
      rows.push_back(
          {is_empty ? node : "", is_empty ? standing : "", member.name, member_state_text(view, member)});
      if (has_metrics) rows.back().push_back(metrics_addresses_of(view, member));
      is_empty = false;
    }
    return is_empty;
  };
  std::map<std::string, bool> known;
  for (const auto& node : view.nodes) {
    known[node.name] = true;
    const std::string standing = node_state_text(view, node, now);
    if (add(node.name, standing)) rows.push_back({node.name, standing, "-", ""});
  }
  for (const auto& member : view.members)
    if (!std::exchange(known[member.node], true)) add(member.node, member.node.empty() ? "no node" : "gone");
  return rows;
}

std::vector<Row> recovery_rows(const RunView& view) {
  if (view.recoveries.empty()) return {};
  std::vector<Row> rows = {{"LOST (UTC)", "SECONDS", "STEPS AGAIN", "MEMBER", "NODE", "WHY"}};
  const std::size_t count = view.recoveries.size();
  for (std::size_t i = count - std::min(count, kRecoveriesShown); i < count; ++i) {
    const auto& r = view.recoveries[i];
    rows.push_back({time_of_day(r.time), format_number("%.2f", r.seconds), std::to_string(r.lost_steps),
                    r.member, r.node, r.reason});
  }
  return rows;
}

// Returns the rows that tell how long each phase of the last recovery took.
std::vector<Row> phase_rows(const RunView& view) {
  const auto& last = view.job.status.last_disruption;
  if (!last || view.recoveries.empty()) return {};
  const auto& p = last->phases;
  std::vector<Row> rows = {
      {"OF THE LAST", "DETECT", "DECIDE", "PLACE", "START", "RENDEZVOUS", "LOAD", "FIRST STEP"}, {"seconds"}};
  for (const double spent : {p.detect_seconds, p.decide_seconds, p.place_seconds, p.start_seconds,
                             p.rendezvous_seconds, p.load_seconds, p.first_step_seconds})
    rows.back().push_back(format_number("%.2f", spent));
  return rows;
}

// Returns a line for each condition of the job that has a message, for example that no node has room for a
// pod.
std::vector<std::string> condition_lines(const api::TrainingJobStatus& status) {
  std::vector<std::string> lines;
  for (const auto& condition : status.conditions) {
    const bool is_phase = api::is_phase_name(condition.type);
    if (is_phase || condition.message.empty()) continue;
    lines.push_back(condition.type + " is " + (condition.is_true ? "true" : "false") + " since " +
                    time_of_day(condition.since) + ": " + condition.message);
  }
  return lines;
}

void append_lines(std::vector<std::string>& lines, const std::string& text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::size_t last = text.find_last_not_of(' ', end - 1);
    lines.push_back(text.substr(begin, last + 1 - begin));
    begin = end + 1;
  }
}

std::vector<Row> header_rows(const RunView& view) {
  std::vector<Row> rows = {{view.job.meta.name, phase_text(view) + ", " + world_text(view)}};
  if (!view.place.empty()) rows.push_back({"in", view.place});
  rows.push_back({"at", position_text(view) + rate_text(view)});
  rows.push_back({"durable", durable_checkpoint_text(view)});
  if (!view.best.empty()) rows.push_back({"best", view.best});
  if (!view.saves.empty()) rows.push_back({"saves in", view.saves});
  rows.push_back({"losses", describe_losses(view)});
  if (const auto& failure = view.job.status.last_failure) rows.push_back({"failed", failure_text(*failure)});
  if (const auto& weights = view.job.status.final_weights; !weights.empty())
    rows.push_back({"weights", weights});
  return rows;
}

}  // namespace

std::string losses_text(const api::Restarts& restarts) {
  std::string text =
      std::to_string(restarts.disruption) + " lost, " + std::to_string(restarts.application) + " failed";
  if (restarts.hung != 0) text += ", " + std::to_string(restarts.hung) + " hung";
  return text;
}

std::string summary_line(const RunView& view) {
  return line_of(phase_text(view) + ", " + world_text(view) + ": " + position_text(view) + rate_text(view) +
                     "  durable " + durable_step_text(view),
                 0);
}

std::vector<std::string> render_run(const RunView& view, WallTime now, std::size_t columns,
                                    std::size_t rows) {
  std::vector<std::string> lines;
  append_lines(lines, table_text(header_rows(view)));
  for (auto& line : condition_lines(view.job.status)) lines.push_back(std::move(line));
  // A stopped run's message is not shown, because its status still has the message from before the stop.
  if (!is_in_progress(view) && phase_text(view) != kStoppedPhase && !view.job.status.message.empty())
    lines.push_back(view.job.status.message);
  append_lines(lines, table_text(node_rows(view, now)));
  append_lines(lines, table_text(recovery_rows(view)));
  append_lines(lines, table_text(phase_rows(view)));
  if (rows != 0 && lines.size() > rows) {
    const std::size_t left_out = lines.size() - rows + 1;
    lines.resize(rows - 1);
    lines.push_back("... " + std::to_string(left_out) + " more lines");
  }
  for (auto& line : lines) line = line_of(line, columns);
  return lines;
}

}  // namespace ratoon::cli
