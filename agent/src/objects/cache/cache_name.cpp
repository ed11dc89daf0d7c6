#include "agent/src/objects/cache/cache_name.h"

#include <algorithm>
#include <span>

#include "base/core/xxh3.h"

namespace ratoon::objects {
namespace {

constexpr std::size_t kHashDigits = 32;
constexpr std::size_t kReadableCharsMax = 60;
constexpr std::string_view kObjectSuffix = ".object";
constexpr std::string_view kPartSuffix = ".part";

bool is_plain_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
         c == '_';
}

}  // namespace

std::string object_name(const CacheKey& key) {
  // The zero byte separates the URI from the version. A URI contains no zero byte, so two different keys
  // never give the same text to the hash.
  const std::string text = key.source + '\0' + key.version;
  std::string_view shown = key.source;
  shown.remove_prefix(shown.rfind('/') + 1);  // npos + 1 is 0
  if (shown.size() > kReadableCharsMax) shown.remove_prefix(shown.size() - kReadableCharsMax);
  std::string name = to_hex(xxh3_128(std::as_bytes(std::span(text)))) + '-' + std::string(shown);
  std::replace_if(name.begin(), name.end(), [](char c) { return !is_plain_character(c); }, '_');
  return name.append(kObjectSuffix);
}

std::string part_name(std::string_view object_name, std::string_view by) {
  std::string name(object_name.substr(0, object_name.size() - kObjectSuffix.size()));
  if (!by.empty()) name.append(".").append(by);
  return name.append(kPartSuffix);
}

std::optional<CacheNameKind> parse_cache_name(std::string_view name) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (name.size() <= kHashDigits || name[kHashDigits] != '-') return std::nullopt;
  if (!std::all_of(name.begin(), name.begin() + kHashDigits, is_digit)) return std::nullopt;
  if (name.ends_with(kObjectSuffix)) return CacheNameKind::kObject;
  if (name.ends_with(kPartSuffix)) return CacheNameKind::kPart;
  return std::nullopt;
}

}  // namespace ratoon::objects
