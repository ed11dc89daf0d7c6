// Keys of objects: names that mean the same in a folder, a URL and a bucket, and never lead out of them.
#pragma once

#include <string>
#include <string_view>

#include <ratoon/result.h>

namespace ratoon::objects {

// Parts separated by single '/', none of them empty, "." or ".."; at most 1,024 bytes, as S3 has it; no
// control characters.
[[nodiscard]] Result<void> check_key(std::string_view key, std::string_view store_uri);

// The same for what keys begin with: empty, or a key that may end in the middle of a part.
[[nodiscard]] Result<void> check_prefix(std::string_view prefix, std::string_view store_uri);

// "s3://bucket/digits" and "train/index.json" make "s3://bucket/digits/train/index.json".
[[nodiscard]] std::string join_uri(std::string_view store_uri, std::string_view key);

}  // namespace ratoon::objects
