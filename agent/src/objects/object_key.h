// Keys of objects: names that mean the same in a folder, a URL and a bucket, and never lead out of them.
#pragma once

#include <string>
#include <string_view>

#include <ratoon/result.h>

namespace ratoon::objects {

// Accepts parts that are separated by a single '/', none of them empty, "." or "..". A key has at most 1,024
// bytes, which is S3's limit, and no control characters.
[[nodiscard]] Result<void> check_key(std::string_view key, std::string_view store_uri);

// Applies the same rules to a prefix of keys: it may be empty or end in the middle of a part.
[[nodiscard]] Result<void> check_prefix(std::string_view prefix, std::string_view store_uri);

// Joins "s3://bucket/digits" and "train/index.json" to "s3://bucket/digits/train/index.json".
[[nodiscard]] std::string join_uri(std::string_view store_uri, std::string_view key);

}  // namespace ratoon::objects
