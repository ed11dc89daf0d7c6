#include "base/core/log_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/core/utf8.h"

namespace ratoon {

namespace {

constexpr std::string_view kJsonEnd = "}\n";
constexpr std::string_view kJsonCutEnd = ",\"cut\":true}\n";
constexpr std::string_view kTextEnd = "\n";
constexpr std::string_view kTextCutEnd = " (cut)\n";
constexpr std::size_t kLineEndBytes = std::max(kJsonCutEnd.size(), kTextCutEnd.size());

// Returns the level's name padded to five letters, so that messages are aligned in a text log.
std::string_view padded_name_of(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info ";
    case LogLevel::kWarning:
      return "warn ";
    case LogLevel::kError:
      return "error";
  }
  return "?    ";
}

// Returns whether the text needs no quotes because a shell would take it as one word.
bool is_plain(std::string_view text) {
  const auto is_plain_char = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_./:+,@%").find(c) != std::string_view::npos;
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), is_plain_char);
}

bool is_reserved(std::string_view key) {
  return key == "time" || key == "level" || key == "message" || key == "cut";
}

using Escape = std::array<char, 6>;

std::string_view unicode_escape(Escape& buffer, unsigned char code) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  buffer = {'\\', 'u', '0', '0', kDigits[code >> 4], kDigits[code & 0xF]};
  return {buffer.data(), buffer.size()};
}

// Returns the character as it stands in a JSON string; `buffer` holds the result if it is an escape.
std::string_view escaped(std::string_view character, Escape& buffer) {
  const unsigned char first = static_cast<unsigned char>(character[0]);
  const bool is_c1_control =
      character.size() == 2 && first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
  if (is_c1_control) return unicode_escape(buffer, static_cast<unsigned char>(character[1]));
  switch (first) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return first < 0x20 || first == 0x7F ? unicode_escape(buffer, first) : character;
  }
}

}  // namespace

LogLine::LogLine(LogFormat format, std::size_t max_bytes)
    : format_(format), max_size_(max_bytes - kLineEndBytes) {}

void LogLine::begin(std::string_view time, LogLevel level, std::string_view message) {
  // The message gets at most half of the line, so that a long message leaves room for the fields.
  const std::size_t max_message_end = max_size_ / 2;
  if (format_ == LogFormat::kJson) {
    text_.append(R"({"time":")").append(time).append(R"(","level":")").append(name_of(level));
    text_ += R"(","message":)";
    add_quoted(message, max_message_end);
  } else {
    const std::size_t date_end = time.find('T') + 1;
    text_.append(time.substr(date_end, time.find('Z') - date_end)).append(" ").append(padded_name_of(level));
    text_ += ' ';
    is_cut_ |= !append_escaped(text_, message, max_message_end);
    text_ += ' ';  // the second space before the fields; end() removes it if there are none
  }
}

void LogLine::add(std::span<const LogField> fields) {
  for (const LogField& field : fields) add(field);
}

void LogLine::add(const LogField& field) {
  const std::size_t before = text_.size();
  const bool is_key_whole = add_key(field.key);
  if (is_key_whole) add_value(field.value);
  if (!is_key_whole || text_.size() > max_size_) {
    text_.resize(before);
    is_cut_ = true;
  }
}

bool LogLine::add_key(std::string_view key) {
  text_ += format_ == LogFormat::kJson ? ",\"" : " ";
  if (!append_escaped(text_, key, max_size_)) return false;
  if (is_reserved(key)) text_ += '_';
  text_ += format_ == LogFormat::kJson ? "\":" : "=";
  return true;
}

void LogLine::add_value(const LogValue& value) {
  if (const auto* text = std::get_if<std::string_view>(&value.get())) {
    add_text(*text);
  } else if (const auto* number = std::get_if<double>(&value.get())) {
    add_number(*number);
  } else if (const auto* truth = std::get_if<bool>(&value.get())) {
    text_ += *truth ? "true" : "false";
  } else if (const auto* natural = std::get_if<std::uint64_t>(&value.get())) {
    text_ += std::to_string(*natural);
  } else {
    text_ += std::to_string(std::get<std::int64_t>(value.get()));
  }
}

void LogLine::add_text(std::string_view value) {
  if (format_ == LogFormat::kText && is_plain(value) && text_.size() + value.size() <= max_size_) {
    text_ += value;
  } else {
    add_quoted(value, max_size_);
  }
}

void LogLine::add_number(double value) {
  if (std::isnan(value)) return add_text("NaN");
  if (std::isinf(value)) return add_text(value > 0 ? "Infinity" : "-Infinity");
  std::array<char, 32> digits{};
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  text_.append(digits.data(), result.ptr);
}

// Adds the value in quotes and shortens it so that the line has at most max_size bytes.
void LogLine::add_quoted(std::string_view value, std::size_t max_size) {
  text_ += '"';
  is_cut_ |= !append_escaped(text_, value, max_size - 1);
  text_ += '"';
}

void LogLine::add_rendered(std::string_view fields, bool is_cut) {
  text_ += fields;
  is_cut_ |= is_cut;
}

std::string LogLine::end() && {
  if (format_ == LogFormat::kJson) {
    text_ += is_cut_ ? kJsonCutEnd : kJsonEnd;
  } else {
    if (text_.back() == ' ') text_.pop_back();
    text_ += is_cut_ ? kTextCutEnd : kTextEnd;
  }
  return std::move(text_);
}

bool append_escaped(std::string& out, std::string_view text, std::size_t max_size) {
  Escape buffer;
  while (!text.empty()) {
    const TextPiece piece = first_text_piece(std::as_bytes(std::span(text)));
    const std::string_view unit =
        piece.is_character ? escaped(text.substr(0, piece.size), buffer) : "\xEF\xBF\xBD";
    if (out.size() + unit.size() > max_size) return false;
    out += unit;
    text.remove_prefix(piece.size);
  }
  return true;
}

}  // namespace ratoon
