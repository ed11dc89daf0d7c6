#include "operator/api/spec_fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <sstream>

#include "base/core/utf8.h"

namespace ratoon::api {
namespace {

// Returns the words of a text as a JSON list: "train --fast" becomes ["train","--fast"].
std::string split_into_json_list(const std::string& text) {
  nlohmann::json words = nlohmann::json::array();
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(word);
  const std::string list = words.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  constexpr std::size_t kShown = 60;
  return words.empty() || list.size() > kShown ? R"(["first","second"])" : list;
}

}  // namespace

bool is_dns_label(std::string_view name) {
  const auto is_inner = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return !name.empty() && std::all_of(name.begin(), name.end(), is_inner) && name.front() >= 'a' &&
         name.back() != '-';
}

std::string item_name(std::string_view list, std::size_t index) {
  return std::string(list) + "[" + std::to_string(index) + "]";
}

std::uint32_t read_count(Fields& f, const char* name, std::uint32_t min, std::uint32_t max,
                         std::uint32_t absent) {
  const nlohmann::json* value = f.find(name);
  if (value == nullptr) return absent;
  const std::optional<std::uint64_t> number =
      value->is_number_unsigned() ? std::optional(value->get<std::uint64_t>()) : std::nullopt;
  if (number && *number >= min && *number <= max) return static_cast<std::uint32_t>(*number);
  f.complain(name, "a whole number from " + std::to_string(min) + " to " + std::to_string(max));
  return 0;
}

void read_string_list(Fields& f, const char* name, std::size_t texts_max, std::size_t length_max,
                      std::vector<std::string>& texts) {
  if (const nlohmann::json* value = f.find(name); value != nullptr && value->is_string()) {
    f.complain(name, "a list of texts, each in quotes, such as " +
                         split_into_json_list(value->get_ref<const std::string&>()));
    return;
  }
  for (const auto& text : f.list(name, texts_max)) {
    if (!text.is_string() || count_characters(text.get_ref<const std::string&>()) > length_max) {
      f.complain(name, "a list of texts (put numbers and true or false in quotes)");
      return;
    }
    texts.push_back(text.get<std::string>());
  }
}

std::optional<double> parse_quantity(std::string_view quantity) {
  struct Unit {
    std::string_view name;
    double factor;
  };
  static constexpr auto kUnits = std::to_array<Unit>({{"", 1},
                                                      {"n", 1e-9},
                                                      {"u", 1e-6},
                                                      {"m", 1e-3},
                                                      {"k", 1e3},
                                                      {"M", 1e6},
                                                      {"G", 1e9},
                                                      {"T", 1e12},
                                                      {"P", 1e15},
                                                      {"E", 1e18},
                                                      {"Ki", 0x1p10},
                                                      {"Mi", 0x1p20},
                                                      {"Gi", 0x1p30},
                                                      {"Ti", 0x1p40},
                                                      {"Pi", 0x1p50},
                                                      {"Ei", 0x1p60}});
  constexpr double kMost = 0x1p53;  // a double holds whole numbers exactly up to here
  if (quantity.starts_with('+')) quantity.remove_prefix(1);
  // Require a digit or '.' as the first character, in order to refuse "inf", "nan" and negative numbers.
  if (quantity.empty() || std::string_view(".0123456789").find(quantity.front()) == std::string_view::npos)
    return std::nullopt;
  double number = 0;
  const auto [end, code] = std::from_chars(quantity.data(), quantity.data() + quantity.size(), number);
  if (code != std::errc()) return std::nullopt;
  quantity.remove_prefix(static_cast<std::size_t>(end - quantity.data()));
  const auto unit = std::ranges::find(kUnits, quantity, &Unit::name);
  if (unit == kUnits.end() || number * unit->factor > kMost) return std::nullopt;
  return number * unit->factor;
}

std::uint64_t read_quantity(Fields& f, const char* name, std::uint64_t parts) {
  const nlohmann::json* value = f.find(name);
  if (value == nullptr) return 0;
  const auto quantity = parse_quantity(value->is_string() ? value->get<std::string>() : value->dump());
  if (!quantity || *quantity * static_cast<double>(parts) > 0x1p53) {
    f.complain(name, "a quantity like 512Mi, 2G, 1.5 or 500m");
    return 0;
  }
  return static_cast<std::uint64_t>(std::ceil(*quantity * static_cast<double>(parts)));
}

std::optional<std::uint64_t> parse_mebibytes(std::string_view quantity) {
  constexpr std::size_t kDigitsMax = 6;
  constexpr std::size_t kUnitBytes = 2;
  if (quantity.size() <= kUnitBytes || quantity.size() > kDigitsMax + kUnitBytes) return std::nullopt;
  const std::string_view digits = quantity.substr(0, quantity.size() - kUnitBytes);
  const std::string_view unit = quantity.substr(digits.size());
  std::uint64_t count = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (code != std::errc() || end != digits.data() + digits.size() || digits.front() == '0')
    return std::nullopt;
  if (unit == "Mi") return count;
  if (unit == "Gi") return count << 10U;
  if (unit == "Ti") return count << 20U;
  return std::nullopt;
}

}  // namespace ratoon::api
