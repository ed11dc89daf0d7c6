// Structured log: writes one line per event to a file descriptor, as JSON for machines or text for people.
//
//   Logger logger(clock, {.fd = STDERR_FILENO, .format = LogFormat::kJson}, {{"component", "operator"}});
//   logger.info("member started", {{"member", name}, {"step", 12}, {"seconds", 0.25}, {"ok", true}});
//
//   {"time":"2026-11-21T11:38:21.250Z","level":"info","message":"member started","component":"operator",...}
//   11:38:21.250 info  member started  component=operator member=w-0 step=12 seconds=0.25 ok=true
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "base/core/clock.h"

namespace ratoon {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogFormat { kJson, kText };

// Returns "debug", "info", "warning" or "error".
[[nodiscard]] std::string_view name_of(LogLevel level);

// The value of a log field: a text, a number or a boolean. A LogValue only refers to its text, so the text
// must outlive the LogValue.
class LogValue {
 public:
  using Variant = std::variant<bool, std::int64_t, std::uint64_t, double, std::string_view>;

  template <std::same_as<bool> T>
  LogValue(T value) : value_(value) {}  // NOLINT: implicit by design, as are the others
  template <std::integral T>
    requires(!std::same_as<T, bool> && !std::same_as<T, char>)
  LogValue(T value) : value_(static_cast<WidestType<T>>(value)) {}  // NOLINT
  template <std::floating_point T>
  LogValue(T value) : value_(static_cast<double>(value)) {}  // NOLINT
  template <class T>
    requires std::convertible_to<const T&, std::string_view>
  LogValue(const T& text) : value_(view(text)) {}  // NOLINT

  [[nodiscard]] const Variant& get() const { return value_; }

 private:
  template <class T>
  using WidestType = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;

  template <class T>
  static std::string_view view(const T& text) {
    // A null pointer counts as an empty text, because a program may log getenv() of an unset variable.
    if constexpr (std::is_pointer_v<T>) return text != nullptr ? std::string_view(text) : std::string_view();
    return text;
  }

  Variant value_;
};

// Keys are lower_snake_case. A field with a reserved key (time, level, message, cut) gets "_" appended to its
// key.
struct LogField {
  std::string_view key;
  LogValue value;
};

struct LogOptions {
  int fd = 2;  // not owned; must stay open while the logger exists
  LogLevel min_level = LogLevel::kInfo;
  LogFormat format = LogFormat::kJson;
};

// A Logger is cheap to copy. A Logger, its copies and the child loggers that with() returns share one lock
// for writing. Several threads may use a Logger at once, and its calls do not change errno. The clock must
// outlive the logger.
class Logger {
 public:
  using Fields = std::initializer_list<LogField>;

  // The greatest length of a line including its newline; the logger cuts a longer line and marks it as cut.
  static constexpr std::size_t kMaxLineBytes = 8192;

  explicit Logger(const Clock& clock, const LogOptions& options = {}, Fields constant_fields = {});

  void debug(std::string_view message, Fields fields = {}) const { log(LogLevel::kDebug, message, fields); }
  void info(std::string_view message, Fields fields = {}) const { log(LogLevel::kInfo, message, fields); }
  void warning(std::string_view message, Fields fields = {}) const {
    log(LogLevel::kWarning, message, fields);
  }
  void error(std::string_view message, Fields fields = {}) const { log(LogLevel::kError, message, fields); }

  void log(LogLevel level, std::string_view message, std::span<const LogField> fields) const;
  void log(LogLevel level, std::string_view message, Fields fields) const {
    log(level, message, std::span(fields.begin(), fields.size()));
  }

  // Returns whether lines of this level are written. Before you compute expensive fields, call is_enabled().
  [[nodiscard]] bool is_enabled(LogLevel level) const { return level >= min_level_; }

  // Returns a child logger that adds `fields` to every line, after its parent's fields.
  [[nodiscard]] Logger with(Fields fields) const;

  // Returns how many lines this logger, its copies and its children lost because the descriptor refused them.
  [[nodiscard]] std::uint64_t dropped_lines() const;

 private:
  class Sink;

  void add_constant_fields(Fields fields);

  std::shared_ptr<Sink> sink_;
  LogLevel min_level_;
  std::string constant_fields_;  // rendered as in the line
  bool are_constant_fields_cut_ = false;
};

}  // namespace ratoon
