#include "cli/report/page/render.h"

#include <algorithm>

#include <ratoon/version.h>

#include "base/core/count_with_noun.h"
#include "base/core/split_join.h"
#include "cli/report/page/drawings.h"
#include "cli/report/page/html.h"
#include "cli/report/page/page_style.h"
#include "cli/run/run_view.h"
#include "cli/text/text_format.h"

namespace ratoon::cli {
namespace {

constexpr std::size_t kDigestDigitsShown = 12;

double useful_share(const Report& report) {
  double whole = 0;
  double useful = 0;
  for (const auto& [part, spent] : report.account) {
    whole += spent;
    if (part == "useful") useful = spent;
  }
  return whole > 0 ? useful / whole : 0;
}

// Returns the numbers of losses by cause, as `ratoon status` counts them.
std::string loss_causes_text(const Report& report) {
  return report.restarts ? " (" + losses_text(*report.restarts) + ")" : "";
}

std::string summary_text(const Report& report) {
  if (report.length <= 0) return "No time of this run is known yet.";
  std::string lead = report.attempts == 0
                         ? "No attempt began within " + seconds_text(report.length) + ". "
                         : "Step " + std::to_string(report.step) + " after " + seconds_text(report.length) +
                               ", in " + count_with_noun(report.attempts, "attempt") + ". ";
  // Steps may be repeated although no member was lost, if the whole run was stopped and started again.
  if (report.loss_count + report.recovery_count + report.repeated_step_count == 0)
    return lead + "Nothing was lost.";
  lead += report.loss_count == 0
              ? "No member was lost"
              : count_with_noun(report.loss_count, "loss", "losses") + loss_causes_text(report);
  lead += "; " + count_with_noun(report.repeated_step_count, "step") + " made again";
  if (report.recovery_count > 0)
    lead += "; " + count_with_noun(report.recovery_count, "recovery", "recoveries") +
            (report.recovery_count == 1 ? ", within " : ", half of them within ") +
            seconds_text(report.median_recovery);
  return lead + ".";
}

std::string card_html(const std::string& value, const std::string& what) {
  return "<div class=\"card\"><b>" + escaped(value) + "</b><span>" + escaped(what) + "</span></div>";
}

std::string section(const std::string& title, const std::string& text, const std::string& body) {
  return "<section><h2>" + escaped(title) + "</h2>" + (text.empty() ? "" : "<p>" + escaped(text) + "</p>") +
         body + "</section>\n";
}

std::string legend_html(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string legend = "<ul class=\"legend\">";
  for (const auto& [name, note] : entries)
    legend += "<li class=\"" + colour_of(name) + "\"><i></i><span>" + escaped(title_of_part(name)) +
              "</span> <em>" + escaped(note) + "</em></li>";
  return legend + "</ul>";
}

std::string header_html(const Report& report) {
  const bool is_bad = report.standing == "failed";
  const bool is_good = report.standing == "completed";
  std::string head = "<header><h1>" + escaped(report.name) + "</h1>";
  if (!report.standing.empty())
    head += "<span class=\"badge" +
            std::string(is_good  ? ""
                        : is_bad ? " bad"
                                 : " open") +
            "\">" + escaped(report.standing) + "</span>";
  head += "<div class=\"where\">" + escaped(report.folder) +
          (report.began.empty() ? "" : ", began " + escaped(report.began)) + "</div>";
  head +=
      "<p class=\"lead\">" + escaped(summary_text(report)) +
      (report.finish_reason.empty() ? ""
                                    : " The program ended the run: " + escaped(report.finish_reason) + ".") +
      (report.message.empty() || is_good ? "" : " " + escaped(report.message)) + "</p></header>\n";
  head += "<div class=\"cards\">";
  if (!report.account.empty() && !is_bad)
    head += card_html(percent_text(useful_share(report)), "of the time was useful");
  head += card_html(std::to_string(report.step), "newest step");
  head += card_html(std::to_string(report.loss_count), report.loss_count == 1 ? "loss" : "losses");
  if (report.recovery_count > 0) head += card_html(seconds_text(report.median_recovery), "median recovery");
  head += card_html(std::to_string(report.repeated_step_count), "steps made again");
  if (!report.checkpoints.empty())
    head += card_html("step " + std::to_string(report.checkpoints.front().step), "newest checkpoint");
  return head + "</div>\n";
}

std::string time_account_section(const Report& report) {
  if (report.account.empty()) return "";
  double whole = 0;
  for (const auto& [part, spent] : report.account) whole += spent;
  std::vector<std::pair<std::string, std::string>> legend;
  for (const auto& [part, spent] : report.account)
    legend.emplace_back(part, seconds_text(spent) + ", " + percent_text(spent / whole));
  return section("Where the time went", "", draw_account(report) + legend_html(legend));
}

// Returns the parts of the time that the page draws, in the order of their first use.
std::vector<std::string> timeline_parts(const Report& report) {
  std::vector<std::string> parts;
  for (const TimelineRow& row : report.rows)
    for (const TimelineBar& bar : row.bars)
      if (std::ranges::find(parts, bar.part) == parts.end()) parts.push_back(bar.part);
  return parts;
}

std::string by_step_section(const Report& report) {
  if (report.curves.empty() || report.step == 0) return "";
  std::string body;
  for (const Curve& curve : report.curves)
    body +=
        "<div class=\"label\"><b>" + escaped(curve.name) + "</b></div>" + draw_curve_by_step(curve, report);
  return section("By step", "The reported values over the steps of the run, not over the time.", body);
}

std::string over_time_section(const Report& report) {
  if (report.length <= 0) return "";
  std::string body;
  for (const Curve& curve : report.curves) {
    body += "<div class=\"label\"><b>" + escaped(curve.name) + "</b>" +
            (curve.omitted_value_count > 0
                 ? ", without " + std::to_string(curve.omitted_value_count) + " values that are not numbers"
                 : "") +
            "</div>" + draw_curve(curve, report);
  }
  if (!report.rate.empty()) body += "<div class=\"label\"><b>steps a second</b></div>" + draw_rate(report);
  body += "<div class=\"label\"><b>the run and its members</b></div>" + draw_timeline(report);
  std::vector<std::pair<std::string, std::string>> legend;
  for (const auto& part : timeline_parts(report)) legend.emplace_back(part, "");
  std::string text = "All drawings share one axis of time. ";
  if (!report.losses.empty()) text += "Red lines are losses. ";
  if (report.repeated_step_count > 0) text += "Yellow parts are steps that were undone and made again. ";
  text += "Point at a bar or a mark to read its text.";
  return section("Over time", text, body + legend_html(legend));
}

std::string recoveries_section(const Report& report) {
  if (report.recoveries.empty()) return "";
  double longest = 0;
  for (const Recovery& one : report.recoveries) longest = std::max(longest, one.total);
  std::string rows =
      "<table><tr><th>after</th><th>member, node</th><th>why</th><th>phases</th>"
      "<th class=\"num\">total</th><th class=\"num\">steps again</th></tr>";
  for (const Recovery& one : report.recoveries)
    rows += "<tr><td class=\"num\">" + seconds_text(one.at) + "</td><td>" + escaped(one.member) +
            (one.node.empty() ? "" : ", " + escaped(one.node)) + "</td><td>" + escaped(one.reason) +
            "</td><td class=\"wide\">" + draw_recovery(one, longest) + "</td><td class=\"num\">" +
            seconds_text(one.total) + "</td><td class=\"num\">" + std::to_string(one.lost_steps) +
            "</td></tr>";
  std::vector<std::pair<std::string, std::string>> legend;
  for (const auto& [phase, seconds] : report.recoveries.front().phases) legend.emplace_back(phase, "");
  const std::string text = report.recovery_count > report.recoveries.size()
                               ? "The " + std::to_string(report.recoveries.size()) + " longest of " +
                                     std::to_string(report.recovery_count) +
                                     " recoveries, from the lost member's last sign of life until all "
                                     "members made a step."
                               : "Recoveries last from the lost member's last sign of life until all "
                                 "members made a step.";
  return section("Recoveries", text, rows + "</table>" + legend_html(legend));
}

std::string last_failure_section(const Report& report) {
  if (!report.last_failure) return "";
  const api::MemberFailure& failure = report.last_failure->failure;
  std::string text = failure.member + (failure.node.empty() ? "" : " on " + failure.node) + " after " +
                     seconds_text(report.last_failure->at) + ": " + failure.reason;
  if (!failure.exception.empty()) text += ": " + failure.exception;
  const std::string lines = join(report.last_failure->lines, "\n", escaped);
  return section("The last failure", text, lines.empty() ? "" : "<pre>" + lines + "</pre>");
}

std::string checkpoints_section(const Report& report) {
  if (report.checkpoints.empty()) return section("Checkpoints", "There are none.", "");
  std::string rows =
      "<table><tr><th class=\"num\">step</th><th class=\"num\">attempt</th><th>state</th>"
      "<th class=\"num\">ranks</th><th class=\"num\">size</th><th>saved</th><th>where</th>"
      "<th>digest</th></tr>";
  std::string ends;
  for (const StoredCheckpoint& one : report.checkpoints) {
    if (!one.finish_reason.empty())
      ends += "; step " + std::to_string(one.step) + " ended the run: " + one.finish_reason;
    rows += "<tr><td class=\"num\">" + std::to_string(one.step) + "</td><td class=\"num\">" +
            std::to_string(one.attempt) + "</td><td" + (one.why.empty() ? "" : " class=\"why\"") + ">" +
            escaped(one.state) + (one.pin_reason.empty() ? "" : ", pinned: " + escaped(one.pin_reason)) +
            (one.why.empty() ? "" : ": " + escaped(one.why)) + "</td><td class=\"num\">" +
            (one.ranks == 0 ? "" : std::to_string(one.ranks)) + "</td><td class=\"num\">" +
            size_text(one.size_bytes) + "</td><td>" + (one.saved_at ? format_rfc3339(*one.saved_at) : "") +
            "</td><td>" + join(one.tiers, ", ", escaped) + "</td><td><code>" +
            escaped(one.digest.substr(0, kDigestDigitsShown)) + "</code></td></tr>";
  }
  for (const std::string& best : checkpoint::describe_kept_best(report.best)) ends += "; best " + best;
  const std::string text =
      count_with_noun(report.checkpoint_count, "checkpoint") + ", " + size_text(report.stored_bytes) +
      (report.checkpoint_count > report.checkpoints.size() ? "; the newest are listed" : "") + ends;
  return section("Checkpoints", text, rows + "</table>");
}

std::string samples_section(const Report& report) {
  if (report.samples.empty()) return "";
  std::string rows =
      "<table><tr><th>stream</th><th class=\"num\">samples</th><th class=\"num\">batches</th>"
      "<th>digest</th></tr>";
  for (const ConsumedSamples& one : report.samples)
    rows += "<tr><td>" + escaped(one.stream) + "</td><td class=\"num\">" + std::to_string(one.samples) +
            "</td><td class=\"num\">" + std::to_string(one.batches) + "</td><td><code>" +
            escaped(one.digest) + "</code></td></tr>";
  return section("Samples",
                 "The samples that the newest checkpoint consumed, in order. The digest of the samples "
                 "does not depend on lost members.",
                 rows + "</table>");
}

std::string missing_data_section(const Report& report) {
  if (report.missing_data_notes.empty()) return "";
  std::string list = "<ul>";
  for (const auto& remark : report.missing_data_notes) list += "<li>" + escaped(remark) + "</li>";
  return section("Missing from this report", "", list + "</ul>");
}

}  // namespace

std::string render_page(const Report& report) {
  // The page may load no other resource, so that even a mistake in the escaping could not send data out.
  return std::string(
             "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>"
             "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
             "'unsafe-inline'\"/><meta name=\"viewport\" content=\"width=device-width, "
             "initial-scale=1\"/><title>") +
         escaped(report.name) + ": report</title><style>" + kPageStyle + "</style></head>\n<body><main>" +
         header_html(report) + last_failure_section(report) + time_account_section(report) +
         over_time_section(report) + by_step_section(report) + recoveries_section(report) +
         checkpoints_section(report) + samples_section(report) + missing_data_section(report) +
         "<footer>ratoon " + escaped(version()) +
         "; times count from the beginning of the run</footer></main></body></html>\n";
}

}  // namespace ratoon::cli
