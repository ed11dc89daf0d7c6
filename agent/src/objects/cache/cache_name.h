// Makes the names of a cache's files. A name is derived from the object's URI and version, so that several
// data sets can share a folder. A name never leads out of the folder.
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

// Returns "<32 hexadecimal digits>-<end of the URI, for people>.object".
[[nodiscard]] std::string object_name(const CacheKey& key);

// Returns the name of the file that is written before it gets the name of the object. `by` distinguishes
// several writers and is empty for the first writer.
[[nodiscard]] std::string part_name(std::string_view object_name, std::string_view by = {});

enum class CacheNameKind { kObject, kPart };
// Returns nothing for a name that no cache gives. A file with any other name belongs to another program.
[[nodiscard]] std::optional<CacheNameKind> parse_cache_name(std::string_view name);

}  // namespace ratoon::objects
