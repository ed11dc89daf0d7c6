#include "agent/src/objects/object_key.h"

#include <algorithm>

namespace ratoon::objects {
namespace {

constexpr std::size_t kKeyBytesMax = 1024;

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

// Replaces control characters, since a name from an index file may contain any bytes.
std::string printable_key(std::string_view key) {
  std::string text(key.substr(0, 200));
  std::replace_if(text.begin(), text.end(), is_control, '?');
  return "'" + text + "'" + (key.size() > 200 ? "..." : "");
}

Error invalid_key_error(std::string_view key, std::string_view store_uri, std::string_view problem) {
  return {ErrorKind::kInvalid, "the name " + printable_key(key) + " of an object in " +
                                   std::string(store_uri) + ": " + std::string(problem) +
                                   "; expected a relative name such as train/shard.00000.mds"};
}

Result<void> check_key_or_prefix(std::string_view key, std::string_view store_uri, bool is_prefix) {
  if (key.size() > kKeyBytesMax)
    return invalid_key_error(key, store_uri, "the name is longer than 1024 bytes");
  if (std::any_of(key.begin(), key.end(), is_control))
    return invalid_key_error(key, store_uri, "the name has a control character");
  if (key.starts_with('/')) return invalid_key_error(key, store_uri, "the name is absolute");
  for (std::size_t start = 0; start <= key.size();) {
    const std::size_t end = std::min(key.find('/', start), key.size());
    const std::string_view part = key.substr(start, end - start);
    const bool is_open = is_prefix && end == key.size();  // a prefix may end anywhere, also inside a part
    if (part.empty() && !is_open) return invalid_key_error(key, store_uri, "the name has an empty part");
    if ((part == "." || part == "..") && !is_open)
      return invalid_key_error(key, store_uri, "the name would lead out of the store");
    start = end + 1;
  }
  return {};
}

}  // namespace

Result<void> check_key(std::string_view key, std::string_view store_uri) {
  return check_key_or_prefix(key, store_uri, false);
}

Result<void> check_prefix(std::string_view prefix, std::string_view store_uri) {
  return check_key_or_prefix(prefix, store_uri, true);
}

std::string join_uri(std::string_view store_uri, std::string_view key) {
  std::string uri(store_uri);
  if (!uri.ends_with('/')) uri += '/';
  return uri += key;
}

}  // namespace ratoon::objects
