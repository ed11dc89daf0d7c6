// ObjectInfo contains the facts about an object that a store knows without reading the object's bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ratoon::objects {

struct ObjectInfo {
  std::string key;
  std::uint64_t size_bytes = 0;  // of the whole object, even when only a part was requested
  std::string etag;              // the version of the object as the store reports it; may be empty

  friend bool operator==(const ObjectInfo&, const ObjectInfo&) = default;
};

// A ByteRange contains the bytes from `begin` to before `end`. If a range goes beyond the end of the object,
// reading it returns the bytes up to the end of the object. Reading a range that begins at or after the end
// of the object is an error.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct ObjectPage {
  std::vector<ObjectInfo> objects;  // in the order of their keys' bytes; ETags may be empty
  std::string next;                 // pass it to list() for the next page; empty: this was the last page
};

}  // namespace ratoon::objects
