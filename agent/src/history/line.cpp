#include "agent/src/history/line.h"

#include <cmath>
#include <limits>

#include "base/contract/fields.h"

namespace ratoon::history {
namespace {

using nlohmann::json;

constexpr std::uint64_t kFormat = 1;
constexpr std::uint64_t kCountMax = (1ULL << 53) - 1;
constexpr std::size_t kNameBytesMax = 255;
constexpr int kJsonDepthMax = 3;

std::string to_json_line(const json& body) {
  return body.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

json to_json_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

std::optional<double> parse_json_number(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (value == "Infinity") return std::numeric_limits<double>::infinity();
  if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

}  // namespace

std::string encode(const FirstLine& beginning) {
  json body = {{"history", kFormat}, {"attempt", beginning.attempt.value()}};
  if (beginning.after) {
    body["after"] = {{"attempt", beginning.after->attempt.value()}, {"bytes", beginning.after->bytes}};
  }
  return to_json_line(body);
}

std::string encode(const Row& row) {
  json values = json::object();
  for (const auto& [name, value] : row.values) values[name] = to_json_number(value);
  return to_json_line({{"kind", row.kind},
                       {"step", row.step},
                       {"time", format_rfc3339(row.at)},
                       {"values", std::move(values)}});
}

Result<FirstLine> decode_first_line(std::string_view line) {
  const auto body = parse_json(line, kLineBytesMax, kJsonDepthMax);
  if (!body) return body.error();
  std::optional<Error> complaint;
  Fields f(*body, "first line", complaint);
  if (f.whole("history", kCountMax) != kFormat)
    f.complain("history", "1, the only format that this version reads; use the Ratoon that wrote it");
  FirstLine beginning{.attempt = Attempt(f.whole("attempt", kCountMax)), .after = std::nullopt};
  if (f.find("after") != nullptr) {
    Fields after = f.object("after");
    beginning.after = HistoryPosition{.attempt = Attempt(after.whole("attempt", kCountMax)),
                                      .bytes = after.whole("bytes", kCountMax)};
    if (beginning.after->attempt >= beginning.attempt)
      f.complain("after", "a position in the history of an older attempt than " +
                              std::to_string(beginning.attempt.value()));
  }
  if (complaint) return *complaint;
  return beginning;
}

Result<Row> decode_row(std::string_view line) {
  const auto body = parse_json(line, kLineBytesMax, kJsonDepthMax);
  if (!body) return body.error();
  std::optional<Error> complaint;
  Fields f(*body, "line", complaint);
  Row row;
  row.kind = f.text("kind", kNameBytesMax);
  row.step = f.whole("step", kCountMax);
  const auto at = parse_rfc3339(f.text("time", kNameBytesMax));
  if (at) row.at = *at;
  if (!at) f.complain("time", "a time in the format 2026-11-21T11:38:21.250Z");
  const json* values = f.find("values");
  if (values == nullptr || !values->is_object()) {
    f.complain("values", "an object of numbers");
  } else {
    for (const auto& [name, value] : values->items()) {
      const auto read = parse_json_number(value);
      if (read) row.values[name] = *read;
      if (!read) f.complain("values", "an object of numbers");
    }
  }
  if (complaint) return *complaint;
  return row;
}

}  // namespace ratoon::history
