// What is known of an object without its bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ratoon::objects {

struct ObjectInfo {
  std::string key;
  std::uint64_t size_bytes = 0;  // of the whole object, also where a part of it was asked for
  std::string etag;              // of this version of it, as the store says it; empty where it says none

  friend bool operator==(const ObjectInfo&, const ObjectInfo&) = default;
};

// [begin, end). One that reaches over the object's end gives what there is; one that begins there is an
// error.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct ObjectPage {
  std::vector<ObjectInfo> objects;  // in the order of their keys' bytes; etags may be empty
  std::string next;                 // hand it in for the next page; empty: this was the last one
};

}  // namespace ratoon::objects
