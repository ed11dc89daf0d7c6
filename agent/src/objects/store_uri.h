// Parses the URI by which a user names a store.
#pragma once

#include <string>
#include <string_view>

#include <ratoon/result.h>

namespace ratoon::objects {

enum class StoreScheme { kFile, kHttp, kS3 };

struct StoreUri {
  StoreScheme scheme = StoreScheme::kFile;
  std::string path;  // kFile: the folder; kS3: the prefix, without '/' at its ends; kHttp: the URL up to '?'
  std::string bucket;  // kS3
  std::string query;   // kHttp: after '?'; it may hold a secret
  std::string shown;   // for messages and as the store's name, without secrets

  friend bool operator==(const StoreUri&, const StoreUri&) = default;
};

[[nodiscard]] Result<StoreUri> parse_store_uri(std::string_view text);

}  // namespace ratoon::objects
