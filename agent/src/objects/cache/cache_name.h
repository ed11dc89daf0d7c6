// Names of a cache's files. They follow from what the file holds, so that several data sets share a folder,
// and never lead out of it whatever an object is called.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ratoon::objects {

struct CacheKey {
  std::string source;     // URI of the object
  std::string version{};  // what tells its contents from others under the same URI: a digest, an ETag

  friend auto operator<=>(const CacheKey&, const CacheKey&) = default;
};

// "<32 hexadecimal digits>-<what people know it by>.object"
[[nodiscard]] std::string object_name(const CacheKey& key);

// What is being written under that name; `by` tells several writers apart and is empty for the first.
[[nodiscard]] std::string part_name(std::string_view object_name, std::string_view by = {});

enum class CacheNameKind { kObject, kPart };
// Nothing for names that are not a cache's: those files are somebody else's.
[[nodiscard]] std::optional<CacheNameKind> parse_cache_name(std::string_view name);

}  // namespace ratoon::objects
