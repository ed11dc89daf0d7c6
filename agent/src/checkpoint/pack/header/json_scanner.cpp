#include "agent/src/checkpoint/pack/header/json_scanner.h"

#include <algorithm>
#include <charconv>

#include "agent/src/checkpoint/pack/header/header_json.h"

namespace ratoon::checkpoint {
namespace {

constexpr std::size_t kCodeUnitDigits = 4;

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool ends_plain_text(char c) {
  return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
}

bool is_between(std::uint32_t unit, std::uint32_t first, std::uint32_t last) {
  return unit >= first && unit <= last;
}

void append_code_point(std::string& out, std::uint32_t code) {
  const auto tail = [code](int shift) { return static_cast<char>(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80)
    out += static_cast<char>(code);
  else if (code < 0x800)
    out.append({static_cast<char>(0xc0 | code >> 6), tail(0)});
  else if (code < 0x10000)
    out.append({static_cast<char>(0xe0 | code >> 12), tail(6), tail(0)});
  else
    out.append({static_cast<char>(0xf0 | code >> 18), tail(12), tail(6), tail(0)});
}

}  // namespace

char JsonScanner::peek() {
  while (position_ < text_.size() && is_space(text_[position_])) ++position_;
  return position_ < text_.size() ? text_[position_] : '\0';
}

bool JsonScanner::take(char c) {
  const bool is_there = peek() == c && position_ < text_.size();
  if (is_there) ++position_;
  return is_there;
}

std::optional<std::string> JsonScanner::take_text() {
  if (!take('"')) return std::nullopt;
  std::string out;
  while (position_ < text_.size()) {
    const std::string_view rest = text_.substr(position_);
    const auto plain =
        static_cast<std::size_t>(std::find_if(rest.begin(), rest.end(), ends_plain_text) - rest.begin());
    out.append(rest.substr(0, plain));
    position_ += plain;
    if (plain == rest.size()) break;
    const char end = text_[position_++];
    if (end == '"') return is_utf8(out) ? std::optional(std::move(out)) : std::nullopt;
    if (end != '\\' || !take_escape(out)) break;
  }
  return std::nullopt;
}

bool JsonScanner::take_escape(std::string& out) {
  if (position_ == text_.size()) return false;
  const char c = text_[position_++];
  if (c == 'u') {
    auto code = take_code_unit();
    if (!code || is_between(*code, 0xdc00, 0xdfff)) return false;
    if (is_between(*code, 0xd800, 0xdbff)) {  // a high surrogate; the low one must follow
      if (text_.substr(position_, 2) != "\\u") return false;
      position_ += 2;
      const auto low = take_code_unit();
      if (!low || !is_between(*low, 0xdc00, 0xdfff)) return false;
      code = 0x10000 + ((*code - 0xd800) << 10) + (*low - 0xdc00);
    }
    append_code_point(out, *code);
    return true;
  }
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
  const std::size_t i = kLetters.find(c);
  if (i == std::string_view::npos) return false;
  out += kMeant[i];
  return true;
}

std::optional<std::uint32_t> JsonScanner::take_code_unit() {
  const std::string_view digits = text_.substr(position_, kCodeUnitDigits);
  std::uint32_t unit = 0;
  const char* const end = digits.data() + digits.size();
  if (digits.size() != kCodeUnitDigits || std::from_chars(digits.data(), end, unit, 16).ptr != end)
    return std::nullopt;
  position_ += kCodeUnitDigits;
  return unit;
}

std::optional<std::uint64_t> JsonScanner::take_whole_number() {
  static_cast<void>(peek());
  const std::string_view rest = text_.substr(position_);
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  const auto digits = static_cast<std::size_t>(end - rest.data());
  const bool has_leading_zero = digits > 1 && rest.front() == '0';
  const bool goes_on =
      digits < rest.size() && std::string_view(".eE").find(rest[digits]) != std::string_view::npos;
  if (failure != std::errc() || has_leading_zero || goes_on) return std::nullopt;
  position_ += digits;
  return value;
}

}  // namespace ratoon::checkpoint
