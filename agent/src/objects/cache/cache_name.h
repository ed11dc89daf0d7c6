// Makes the names of a cache's files. The name of a cache file is derived from the object's URI and version,
// so that several data sets can share a cache. A name contains no '/', so it never leads out of the cache's
// folder.
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
// only helps people who look at the folder.
[[nodiscard]] std::string object_name(const CacheKey& key);

// Returns the name of the unfinished file in which an object is written before the file gets the name of the
// object. `by` distinguishes processes that write one object, and is empty for the first process.
[[nodiscard]] std::string part_name(std::string_view object_name, std::string_view by = {});

enum class CacheNameKind { kObject, kPart };
// Returns nothing for a name that is not the name of a cache file. A file whose name has another form belongs
// to another program.
[[nodiscard]] std::optional<CacheNameKind> parse_cache_name(std::string_view name);

}  // namespace ratoon::objects
