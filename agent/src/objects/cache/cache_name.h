// Makes the names of a cache's files. The name of a cache file is derived from the object's URI and version,
// so that several data sets can share a cache. A cache file's name contains no '/', so it never leads out of
// the folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ratoon::objects {

struct CacheKey {
  std::string source;     // URI of the object
  std::string version{};  // distinguishes the contents from others under the same URI: a digest, an ETag

  friend auto operator<=>(const CacheKey&, const CacheKey&) = default;
};

// Returns the name of an object's file: "<32 hexadecimal digits>-<end of the URI>.object". The end of the URI
// only helps users to recognize the file.
[[nodiscard]] std::string object_name(const CacheKey& key);

// Returns the name that an object's file has until it is complete. If several processes write one object,
// `by` distinguishes their unfinished files. The file of the first of these processes has an empty `by`.
[[nodiscard]] std::string part_name(std::string_view object_name, std::string_view by = {});

enum class CacheNameKind { kObject, kPart };
// Returns nothing if `name` does not have the form of a cache file's name. A file in the cache's folder whose
// name has another form belongs to another program.
[[nodiscard]] std::optional<CacheNameKind> parse_cache_name(std::string_view name);

}  // namespace ratoon::objects
