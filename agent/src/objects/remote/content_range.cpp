#include "agent/src/objects/remote/content_range.h"

#include <charconv>

namespace ratoon::objects {

std::optional<std::uint64_t> parse_byte_count(std::string_view digits) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.empty()) return std::nullopt;
  return value;
}

std::optional<ContentRange> parse_content_range(std::string_view text) {
  if (!text.starts_with("bytes ")) return std::nullopt;
  text.remove_prefix(6);
  const std::size_t dash = text.find('-');
  const std::size_t slash = text.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || slash < dash) return std::nullopt;
  const auto first = parse_byte_count(text.substr(0, dash));
  const auto last = parse_byte_count(text.substr(dash + 1, slash - dash - 1));
  const auto total = parse_byte_count(text.substr(slash + 1));
  if (!first || !last || *last < *first || *last == ~std::uint64_t{0}) return std::nullopt;
  if (!total && text.substr(slash + 1) != "*") return std::nullopt;
  if (total && *last >= *total) return std::nullopt;
  return ContentRange{*first, *last + 1, total};
}

std::string range_header(std::uint64_t begin, std::optional<std::uint64_t> end) {
  return "bytes=" + std::to_string(begin) + "-" + (end ? std::to_string(*end - 1) : "");
}

bool is_strong_etag(std::string_view etag) {
  return etag.size() > 2 && etag.starts_with('"') && etag.ends_with('"');
}

}  // namespace ratoon::objects
