#include "cli/report/page/html.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <span>
#include <utility>

#include "base/core/utf8.h"
#include "cli/text/text_format.h"

namespace ratoon::cli {
namespace {

constexpr std::size_t kCharactersMax = 400;
constexpr const char* kReplacement = "\xEF\xBF\xBD";
constexpr const char* kEllipsis = "\xE2\x80\xA6";

template <typename... Values>
std::string format_number(const char* format, Values... values) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

// Returns the UTF-8 character at the front (1 to 4 bytes), or an empty text if the bytes are invalid.
std::string_view first_character(std::string_view text) {
  for (std::size_t size = 1; size <= std::min<std::size_t>(4, text.size()); ++size) {
    const std::string_view one = text.substr(0, size);
    if (is_utf8(std::as_bytes(std::span(one.data(), one.size())))) return one;
  }
  return {};
}

bool is_unsafe_character(std::string_view character) {
  if (character.size() == 1) {
    const auto byte = static_cast<unsigned char>(character.front());
    return byte < 0x20 || byte == 0x7f;
  }
  // Finds C1 control characters, characters that change the text direction, and two characters that XML
  // forbids.
  constexpr std::array kTurning = {"\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066",
                                   "\u2067", "\u2068", "\u2069", "\ufffe", "\uffff"};
  const bool is_c1 =
      character.size() == 2 && character[0] == '\xc2' && static_cast<unsigned char>(character[1]) < 0xa0;
  return is_c1 || std::ranges::find(kTurning, character) != kTurning.end();
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string safe;
  for (std::size_t taken = 0; !text.empty(); ++taken) {
    if (taken == kCharactersMax) return safe + kEllipsis;
    const std::string_view one = first_character(text);
    text.remove_prefix(std::max<std::size_t>(1, one.size()));
    if (one.empty() || is_unsafe_character(one))
      safe += kReplacement;
    else if (one == "&")
      safe += "&amp;";
    else if (one == "<")
      safe += "&lt;";
    else if (one == ">")
      safe += "&gt;";
    else if (one == "\"")
      safe += "&quot;";
    else if (one == "'")
      safe += "&#39;";
    else
      safe += one;
  }
  return safe;
}

std::string number_text(double value) {
  constexpr std::array kUnits = {std::pair(1e12, "T"), std::pair(1e9, "G"), std::pair(1e6, "M"),
                                 std::pair(1e4, "k")};
  const double size = std::abs(value);
  for (const auto& [unit, name] : kUnits)
    if (size >= unit && size < 1e16)
      return format_number("%.4g %s", value / (unit == 1e4 ? 1e3 : unit), name);
  return format_number("%.4g", value);
}

std::string pixel_text(double value) {
  const double rounded = std::round(value * 10) / 10;
  return format_number("%.*f", rounded == std::round(rounded) ? 0 : 1, rounded);
}

std::string seconds_text(double seconds) {
  if (seconds < 10) return format_number("%.2f s", seconds);
  if (seconds < 100) return format_number("%.1f s", seconds);
  return duration_text(seconds);
}

std::string percent_text(double share) {
  // A share below 1 is never shown as 100 %.
  const double percent = share >= 1 ? 100 : std::min(std::round(share * 1000) / 10, 99.9);
  return format_number(percent >= 100 ? "%.0f %%" : "%.1f %%", percent);
}

}  // namespace ratoon::cli
