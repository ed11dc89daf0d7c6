#include "operator/api/spec_fields.h"

#include <algorithm>
#include <charconv>

namespace ratoon::api {

bool is_dns_label(std::string_view name) {
  const auto is_inner = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return !name.empty() && std::all_of(name.begin(), name.end(), is_inner) && name.front() >= 'a' &&
         name.back() != '-';
}

std::uint32_t read_count(Fields& f, const char* name, std::uint32_t min, std::uint32_t max,
                         std::uint32_t absent) {
  if (f.find(name) == nullptr) return absent;
  const auto value = static_cast<std::uint32_t>(f.whole(name, max));
  if (value < min) f.complain(name, "at least " + std::to_string(min));
  return value;
}

void read_texts(Fields& f, const char* name, std::size_t texts_max, std::size_t bytes_max,
                std::vector<std::string>& texts) {
  for (const auto& text : f.list(name, texts_max)) {
    if (!text.is_string() || text.get_ref<const std::string&>().size() > bytes_max) {
      f.complain(name, "a list of texts");
      return;
    }
    texts.push_back(text.get<std::string>());
  }
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
