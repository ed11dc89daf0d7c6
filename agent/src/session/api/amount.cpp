#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>

#include <ratoon/amount.h>

namespace ratoon {
namespace {

constexpr std::size_t kWholeDigitsMax = 12;
constexpr std::size_t kDecimalPlacesMax = 6;
constexpr std::uint64_t kMillion = 1'000'000;  // parts of a number with kDecimalPlacesMax places

struct Unit {
  std::string_view suffix;
  CountedIn counted_in;
  std::uint64_t size;  // nanoseconds of a time; 1 of any other unit
};
// The units of time are in the order in which text_of() writes them: from the largest to the smallest.
constexpr std::array<Unit, 8> kUnits = {{{"st", CountedIn::kSteps, 1},
                                         {"ba", CountedIn::kBatches, 1},
                                         {"ep", CountedIn::kEpochs, 1},
                                         {"sp", CountedIn::kSamples, 1},
                                         {"d", CountedIn::kTime, 86'400'000'000'000},
                                         {"h", CountedIn::kTime, 3'600'000'000'000},
                                         {"m", CountedIn::kTime, 60'000'000'000},
                                         {"s", CountedIn::kTime, 1'000'000'000}}};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// A Term is a number with its unit, such as the "1h" in "1h30m".
struct Term {
  std::uint64_t millionths = 0;  // of the number
  bool has_fraction = false;
  const Unit* unit = nullptr;
};

std::size_t count_digits(std::string_view text) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
}

std::uint64_t parse_number(std::string_view digits) {
  std::uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

std::optional<Term> parse_next_term(std::string_view& rest) {
  const std::size_t whole = count_digits(rest);
  if (whole == 0 || whole > kWholeDigitsMax) return std::nullopt;
  Term term{.millionths = parse_number(rest.substr(0, whole)) * kMillion};
  rest.remove_prefix(whole);
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    const std::size_t places = count_digits(rest);
    if (places == 0 || places > kDecimalPlacesMax) return std::nullopt;
    std::string padded(rest.substr(0, places));
    padded.resize(kDecimalPlacesMax, '0');
    term.millionths += parse_number(padded);
    term.has_fraction = true;
    rest.remove_prefix(places);
  }
  const auto letters =
      static_cast<std::size_t>(std::find_if(rest.begin(), rest.end(), is_digit) - rest.begin());
  for (const Unit& unit : kUnits)
    if (rest.substr(0, letters) == unit.suffix) term.unit = &unit;
  if (term.unit == nullptr) return std::nullopt;
  rest.remove_prefix(letters);
  return term;
}

Period reduce_fraction(std::uint64_t count, std::uint64_t parts) {
  const std::uint64_t common = std::gcd(count, parts);
  return {.count = count / common, .parts = parts / common};
}

// Adds the terms of a time such as "1h30m". The terms must be in order, from the largest unit to the
// smallest, without repeated units.
std::optional<Amount> sum_time_terms(Term term, std::string_view rest) {
  __extension__ using Wide = unsigned __int128;
  Wide total = 0;
  while (true) {
    if (term.unit->counted_in != CountedIn::kTime || (term.has_fraction && !rest.empty()))
      return std::nullopt;
    total += Wide{term.millionths} * (term.unit->size / kMillion);
    if (rest.empty()) break;
    const auto next = parse_next_term(rest);
    if (!next || next->unit <= term.unit) return std::nullopt;
    term = *next;
  }
  if (total > static_cast<std::uint64_t>(std::chrono::nanoseconds::max().count())) return std::nullopt;
  return Amount{.unit = CountedIn::kTime, .period = {.count = static_cast<std::uint64_t>(total)}};
}

std::optional<Amount> parse_terms(std::string_view text) {
  const auto term = parse_next_term(text);
  if (!term) return std::nullopt;
  const CountedIn unit = term->unit->counted_in;
  if (unit == CountedIn::kTime) return sum_time_terms(*term, text);
  if (!text.empty() || (term->has_fraction && unit != CountedIn::kEpochs)) return std::nullopt;
  return Amount{.unit = unit, .period = reduce_fraction(term->millionths, kMillion)};
}

std::string format_decimal(std::uint64_t whole, std::uint64_t part, std::uint64_t parts) {
  std::string text = std::to_string(whole);
  if (part == 0) return text;
  text += '.';
  for (std::uint64_t rest = part; rest != 0; rest = rest * 10 % parts)
    text += static_cast<char>('0' + rest * 10 / parts);
  return text;
}

std::string text_of_time(std::uint64_t nanoseconds) {
  std::string text;
  for (const Unit& unit : kUnits) {
    if (unit.counted_in != CountedIn::kTime) continue;
    const std::uint64_t whole = nanoseconds / unit.size;
    const bool is_last = unit.suffix == "s";
    const std::uint64_t rest = nanoseconds % unit.size;
    if (whole > 0 || (is_last && (rest > 0 || text.empty())))
      text += format_decimal(whole, is_last ? rest : 0, unit.size) + std::string(unit.suffix);
    nanoseconds = rest;
  }
  return text;
}

}  // namespace

Result<Amount> parse_amount(std::string_view text) {
  const auto amount = parse_terms(text);
  if (amount && amount->period.count > 0) return *amount;
  constexpr std::size_t kQuotedBytesMax = 60;
  return Error(ErrorKind::kInvalid,
               "'" + std::string(text.substr(0, kQuotedBytesMax)) +
                   "' is not an amount of training: expected a number above 0 and its unit, such as 500st "
                   "(optimizer steps), 500ba (batches), 90ep or 0.25ep (epochs), 1000sp (samples), or a time "
                   "such as 45s, 10m, 2h or 1h30m");
}

std::string text_of(const Amount& amount) {
  const auto [count, parts] = amount.period;
  if (amount.unit == CountedIn::kTime) return text_of_time(count);
  for (const Unit& unit : kUnits) {
    if (unit.counted_in != amount.unit) continue;
    // A period without a finite decimal form, such as a third of an epoch, is written as a fraction.
    if (kMillion % parts != 0)
      return std::to_string(count) + "/" + std::to_string(parts) + std::string(unit.suffix);
    return format_decimal(count / parts, count % parts, parts) + std::string(unit.suffix);
  }
  return {};
}

std::uint64_t count_of(const RunPosition& position, CountedIn unit) {
  switch (unit) {
    case CountedIn::kSteps:
      return position.steps;
    case CountedIn::kBatches:
      return position.batches;
    case CountedIn::kEpochs:
    case CountedIn::kSamples:
      return position.samples;
    case CountedIn::kTime:
      return static_cast<std::uint64_t>(std::max<std::int64_t>(position.trained.count(), 0));
  }
  return 0;
}

Period counts_in(const Amount& amount, const RunPosition& position) {
  if (amount.unit != CountedIn::kEpochs) return amount.period;
  if (position.epoch_samples == 0) {
    throw std::invalid_argument("'" + text_of(amount) +
                                "' counts epochs, but this run has no epochs: give the session a stream, or "
                                "count in steps, batches, samples or time");
  }
  const Period epoch = reduce_fraction(position.epoch_samples, amount.period.parts);
  // If a count of samples does not fit in 64 bits, the result is kNever, a number that no run reaches.
  constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
  const bool is_countable = amount.period.count <= kNever / epoch.count;
  return {.count = is_countable ? amount.period.count * epoch.count : kNever, .parts = epoch.parts};
}

}  // namespace ratoon
