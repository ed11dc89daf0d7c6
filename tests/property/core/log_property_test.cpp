// For everything that is logged, the line is one line, valid JSON, bounded, and has the given values.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

#include "base/core/log_line.h"

namespace ratoon::log_property_test {
namespace {

using nlohmann::json;

constexpr std::string_view kTime = "2026-11-21T11:38:21.250Z";

// Bytes of all kinds, with more whole and broken UTF-8 and escapes than random bytes would have.
std::string any_text() {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(
      rc::gen::oneOf(rc::gen::string<std::string>(),
                     rc::gen::element<std::string>("\"", "\\", "\n", "\x7f", "\xc2\x9b", "\xe2\x82\xac",
                                                   "\xf0\x9f\x8c\xb1", "\xf0\x9f", "\xed\xa0\x80",
                                                   std::string(1, '\0'), std::string(300, 'x'))));
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

// nlohmann's own replacement of ill-formed UTF-8 is the reference.
std::string replaced(const std::string& text) {
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

std::string line_of(LogFormat format, std::size_t max_bytes, const std::string& message,
                    const std::vector<LogField>& fields) {
  LogLine line(format, max_bytes);
  line.begin(kTime, LogLevel::kInfo, message);
  line.add(fields);
  return std::move(line).end();
}

RC_GTEST_PROP(LogLine, SaysWhatItWasGiven, (std::int64_t number, double real, bool truth)) {
  const std::string message = any_text();
  const std::string value = any_text();
  const std::string line = line_of(LogFormat::kJson, 1 << 20, message,
                                   {{"text", value}, {"number", number}, {"real", real}, {"truth", truth}});
  const json parsed = json::parse(line);
  RC_ASSERT(line.find('\n') == line.size() - 1);
  RC_ASSERT(parsed["message"].get<std::string>() == replaced(message));
  RC_ASSERT(parsed["text"].get<std::string>() == replaced(value));
  RC_ASSERT(parsed["number"].get<std::int64_t>() == number);
  RC_ASSERT(parsed["real"].get<double>() == real);
  RC_ASSERT(parsed["truth"].get<bool>() == truth);
  RC_ASSERT(!parsed.contains("cut"));
}

RC_GTEST_PROP(LogLine, IsValidAndBoundedWhereverItIsCut, ()) {
  const auto max_bytes = *rc::gen::inRange<std::size_t>(256, 1000);
  const std::string message = any_text();
  const std::string first = any_text();
  const std::string key = any_text();
  const std::string second = any_text();
  const std::vector<LogField> fields = {{"first", first}, {key, 1}, {"second", second}};
  const std::string line = line_of(LogFormat::kJson, max_bytes, message, fields);
  RC_ASSERT(line.size() <= max_bytes);
  RC_ASSERT(line.find('\n') == line.size() - 1);
  const json parsed = json::parse(line);
  RC_ASSERT(replaced(message).starts_with(parsed["message"].get<std::string>()));
  if (parsed.contains("cut")) return;
  RC_ASSERT(parsed["message"].get<std::string>() == replaced(message));
  RC_ASSERT(parsed.at("first").get<std::string>() == replaced(first));
  RC_ASSERT(parsed.at(replaced(key)) == 1);
  RC_ASSERT(parsed.at("second").get<std::string>() == replaced(second));
}

RC_GTEST_PROP(LogLine, OfPeopleIsOneBoundedLineWithoutControls, ()) {
  const auto max_bytes = *rc::gen::inRange<std::size_t>(256, 1000);
  const std::string message = any_text();
  const std::string key = any_text();
  const std::string value = any_text();
  const std::string line = line_of(LogFormat::kText, max_bytes, message, {{key, value}});
  RC_ASSERT(line.size() <= max_bytes);
  RC_ASSERT(line.find('\n') == line.size() - 1);
  for (const char c : std::string_view(line).substr(0, line.size() - 1)) {
    RC_ASSERT(static_cast<unsigned char>(c) >= 0x20u);
    RC_ASSERT(c != '\x7f');
  }
}

}  // namespace
}  // namespace ratoon::log_property_test
