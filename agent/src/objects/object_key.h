// A key is the name of an object in a store. Each key is valid in folders, URLs and buckets, and never leads
// out of the store.
#pragma once

#include <string>
#include <string_view>

#include <ratoon/result.h>

namespace ratoon::objects {

// Checks a key. A valid key consists of parts that are separated by a single '/'; no part is empty, "." or
// "..". A key has at most 1,024 bytes, which is S3's limit, and no control characters.
[[nodiscard]] Result<void> check_key(std::string_view key, std::string_view store_uri);

// Applies the rules of check_key() to a prefix of keys, which may be empty or end inside a part.
[[nodiscard]] Result<void> check_prefix(std::string_view prefix, std::string_view store_uri);

// Joins the URI of a store and a key: "s3://bucket/digits" and "train/index.json" give
// "s3://bucket/digits/train/index.json".
[[nodiscard]] std::string join_uri(std::string_view store_uri, std::string_view key);

}  // namespace ratoon::objects
