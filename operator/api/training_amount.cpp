#include "operator/api/training_amount.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace ratoon::api {
namespace {

constexpr std::size_t kDecimalPlacesMax = 6;

struct Unit {
  std::string_view name;
  std::size_t digits_max;  // for times: so few that no sum of them overflows in the agent
  bool may_be_part;        // accepts a fraction, such as 0.25
  bool is_time;
};
// The units of time in this table go from largest to smallest, as in an amount such as "1h30m".
constexpr std::array<Unit, 8> kUnits = {{{"st", 12, false, false},
                                         {"ba", 12, false, false},
                                         {"sp", 12, false, false},
                                         {"ep", 12, true, false},
                                         {"d", 4, true, true},
                                         {"h", 5, true, true},
                                         {"m", 7, true, true},
                                         {"s", 9, true, true}}};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Removes and returns the characters at the front: all digits if `digits` is true, else all characters before
// the first digit.
std::string_view take_digits_or_letters(std::string_view& rest, bool digits) {
  const auto end = std::ranges::find_if(rest, [&](char c) { return is_digit(c) != digits; });
  const std::string_view taken = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
  rest.remove_prefix(taken.size());
  return taken;
}

// Removes a number and its unit from the front of the text; returns the unit, or null if there is
// none.
const Unit* parse_term(std::string_view& rest) {
  const std::string_view digits = take_digits_or_letters(rest, true);
  bool is_part = false;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    const std::string_view places = take_digits_or_letters(rest, true);
    if (places.empty() || places.size() > kDecimalPlacesMax) return nullptr;
    is_part = true;
  }
  const auto unit = std::ranges::find(kUnits, take_digits_or_letters(rest, false), &Unit::name);
  if (unit == kUnits.end() || digits.empty() || digits.size() > unit->digits_max) return nullptr;
  // Only the last term of an amount may have a fraction, and only if its unit allows fractions.
  return is_part && (!unit->may_be_part || !rest.empty()) ? nullptr : &*unit;
}

}  // namespace

bool is_training_amount(std::string_view text) {
  const bool is_above_zero = std::ranges::any_of(text, [](char c) { return is_digit(c) && c != '0'; });
  const Unit* before = nullptr;
  for (std::string_view rest = text; !rest.empty() || before == nullptr;) {
    const Unit* unit = parse_term(rest);
    if (unit == nullptr || (!unit->is_time && !rest.empty())) return false;
    if (before != nullptr && unit <= before) return false;  // a count has exactly one term
    before = unit;
  }
  return is_above_zero;
}

}  // namespace ratoon::api
