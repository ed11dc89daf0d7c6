#include "agent/src/mds/format/python_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

namespace ratoon::mds {
namespace {

using nlohmann::json;

// nlohmann's dump() escapes the same characters as Python, except U+007F (delete), which only Python
// escapes.
std::string escape_json_text(const json& text) {
  constexpr char kDelete = 0x7f;
  std::string out = text.dump(-1, ' ', true);
  for (std::size_t at = out.find(kDelete); at != std::string::npos; at = out.find(kDelete, at))
    out.replace(at, 1, "\\u007f");
  return out;
}

void append_json(std::string& out, const json& value) {
  const char* between = "";
  if (value.is_object()) {
    out += '{';
    for (const auto& [key, item] : value.items()) {
      out += between + escape_json_text(json(key)) + ": ";
      append_json(out, item);
      between = ", ";
    }
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    for (const auto& item : value) {
      out += between;
      append_json(out, item);
      between = ", ";
    }
    out += ']';
  } else {
    out += value.is_string() ? escape_json_text(value) : value.dump();
  }
}

}  // namespace

std::string format_python_json(const json& value) {
  std::string out;
  append_json(out, value);
  return out;
}

std::string format_python_float(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 400> text{};
  // Writes the shortest digits that read back as the same number, with an exponent of at least two digits, as
  // Python does.
  auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific).ptr;
  const std::string scientific(text.data(), end);
  const std::string_view exponent = std::string_view(scientific).substr(scientific.find('e') + 1);
  int power = 0;
  std::from_chars(exponent.data() + (exponent.front() == '+' ? 1 : 0), exponent.data() + exponent.size(),
                  power);
  if (power < -4 || power >= 16) return scientific;
  end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed).ptr;
  std::string fixed(text.data(), end);
  if (fixed.find('.') == std::string::npos) fixed += ".0";
  return fixed;
}

}  // namespace ratoon::mds
