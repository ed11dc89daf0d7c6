#include <cmath>

#include <nlohmann/json.hpp>

#include "cli/report/page/html.h"
#include "cli/report/page/render.h"

namespace ratoon::cli {
namespace {

using nlohmann::json;

constexpr int kReportVersion = 1;

json json_of(const Recovery& one) {
  json phases = json::object();
  for (const auto& [phase, spent] : one.phases) phases[phase] = spent;
  return {{"at", one.at},         {"member", one.member},         {"node", one.node},
          {"reason", one.reason}, {"lost_steps", one.lost_steps}, {"total_seconds", one.total},
          {"phases", phases}};
}

json json_of(const LastFailure& one) {
  json object = {{"at", one.at},
                 {"member", one.failure.member},
                 {"node", one.failure.node},
                 {"reason", one.failure.reason},
                 {"last_lines", one.lines}};
  if (one.failure.exit_code) object["exit_code"] = *one.failure.exit_code;
  if (one.failure.signal) object["signal"] = *one.failure.signal;
  if (!one.failure.exception.empty()) object["exception"] = one.failure.exception;
  return object;
}

json json_of(const StoredCheckpoint& one) {
  json object = {{"step", one.step},    {"attempt", one.attempt},       {"state", one.state},
                 {"ranks", one.ranks},  {"size_bytes", one.size_bytes}, {"tiers", one.tiers},
                 {"digest", one.digest}};
  if (one.saved_at) object["saved_at"] = format_rfc3339(*one.saved_at);
  if (!one.why.empty()) object["why"] = one.why;
  if (!one.pin_reason.empty()) object["pinned_why"] = one.pin_reason;
  if (!one.finish_reason.empty()) object["finish_reason"] = one.finish_reason;
  return object;
}

// Quotes a cell of the CSV if RFC 4180 requires quotes.
std::string quote_csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string exact_number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return json(value).dump();
}

}  // namespace

json report_json(const Report& report) {
  json object = {{"version", kReportVersion},
                 {"name", report.name},
                 {"folder", report.folder},
                 {"standing", report.standing},
                 {"began", report.began},
                 {"seconds", report.length},
                 {"step", report.step},
                 {"attempts", report.attempts},
                 {"steps_made_again", report.repeated_step_count},
                 {"losses_in_all", report.loss_count},
                 {"account", json::object()},
                 {"losses", json::array()},
                 {"recoveries", json::array()},
                 {"checkpoints", json::array()},
                 {"best", json::array()},
                 {"samples", json::array()},
                 {"remarks", report.missing_data_notes}};
  for (const auto& [part, spent] : report.account) object["account"][part] = spent;
  for (const auto& one : report.losses) object["losses"].push_back({{"at", one.at}, {"what", one.what}});
  if (!report.finish_reason.empty()) object["finish_reason"] = report.finish_reason;
  if (report.restarts)
    object["restarts"] = {{"disruption", report.restarts->disruption},
                          {"application", report.restarts->application},
                          {"hung", report.restarts->hung},
                          {"ignored", report.restarts->ignored}};
  if (report.last_failure) object["last_failure"] = json_of(*report.last_failure);
  for (const auto& one : report.recoveries) object["recoveries"].push_back(json_of(one));
  for (const auto& one : report.checkpoints) object["checkpoints"].push_back(json_of(one));
  for (const auto& one : report.best)
    object["best"].push_back({{"name", one.name},
                              {"value", one.checkpoint.value},
                              {"step", one.checkpoint.id.step.value()},
                              {"attempt", one.checkpoint.id.attempt.value()}});
  for (const auto& one : report.samples)
    object["samples"].push_back(
        {{"stream", one.stream}, {"samples", one.samples}, {"batches", one.batches}, {"digest", one.digest}});
  return object;
}

std::string history_csv(const AttemptHistory& history) {
  std::string text = "time,attempt,step,kept,name,value\r\n";
  for (const auto& [name, rows] : history.values) {
    for (const HistoryRow& row : rows)
      text += format_rfc3339(WallTime{from_seconds(row.at)}) + "," + std::to_string(row.attempt) + "," +
              std::to_string(row.step) + (row.is_kept ? ",1," : ",0,") + quote_csv_cell(name) + "," +
              exact_number_text(row.value) + "\r\n";
  }
  return text;
}

}  // namespace ratoon::cli
