#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include <ratoon/mds_values.h>

namespace ratoon {
namespace {

template <class T>
std::optional<T> parse(std::string_view text) {
  T value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// A decimal number: 0.DIGITS times 10 to the power of `exponent`. The digits neither begin nor end with a
// zero.
struct Decimal {
  std::string digits;
  std::int64_t exponent = 0;

  friend bool operator==(const Decimal&, const Decimal&) = default;
};

// `text` is a finite number without its sign, in a form that std::from_chars accepts.
std::optional<Decimal> parse_decimal(std::string_view text) {
  Decimal number;
  if (const std::size_t e = text.find_first_of("eE"); e != std::string_view::npos) {
    std::string_view digits = text.substr(e + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    const auto exponent = parse<std::int32_t>(digits);
    if (!exponent) return std::nullopt;
    number.exponent = *exponent;
    text = text.substr(0, e);
  }
  const std::size_t point = std::min(text.find('.'), text.size());
  number.exponent += static_cast<std::int64_t>(point);
  number.digits = text.substr(0, point);
  if (point < text.size()) number.digits += text.substr(point + 1);
  const std::size_t zeros = number.digits.find_first_not_of('0');
  if (zeros == std::string::npos) return Decimal();
  number.exponent -= static_cast<std::int64_t>(zeros);
  number.digits = number.digits.substr(zeros, number.digits.find_last_not_of('0') + 1 - zeros);
  return number;
}

// Writes all digits of the number, of which a double has at most 767.
std::string all_digits_of(double value) {
  std::array<char, 800> text{};
  const auto [end, problem] =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific, 766);
  return problem == std::errc() ? std::string(text.data(), end) : std::string();
}

}  // namespace

std::optional<std::int64_t> exact_integer(std::string_view text) {
  return parse<std::int64_t>(text);
}

std::optional<double> nearest_double(std::string_view text) {
  return parse<double>(text);
}

std::optional<double> exact_double(std::string_view text) {
  const auto value = parse<double>(text);
  if (!value || !std::isfinite(*value)) return value;
  if (text.starts_with('-')) text.remove_prefix(1);
  const auto said = parse_decimal(text);
  if (!said || said != parse_decimal(all_digits_of(std::fabs(*value)))) return std::nullopt;
  return value;
}

}  // namespace ratoon
