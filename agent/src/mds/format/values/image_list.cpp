#include "agent/src/mds/format/values/image_list.h"

#include <string>

namespace ratoon::mds {
namespace {

Error corrupted_list(const std::string& what) {
  return Error(ErrorKind::kCorrupted, "not a valid list: " + what);
}

}  // namespace

Result<ImageList> ImageList::read(EncodingKind kind, std::span<const std::byte> bytes) {
  if (kind == EncodingKind::kList) {
    if (bytes.size() < 4)
      return corrupted_list("the list has only " + std::to_string(bytes.size()) + " bytes");
    if (const auto reserved = read_little_endian(bytes.data()); reserved != 0)
      return corrupted_list("the list's first word is " + std::to_string(reserved) +
                            ", and Streaming 0.13 writes 0 there");
    bytes = bytes.subspan(4);
  }
  if (bytes.size() < 4) return corrupted_list("the list ends within the 4 bytes of its number of elements");
  ImageList list;
  list.count_ = read_little_endian(bytes.data());
  if (list.count_ > (bytes.size() - 4) / 4)
    return corrupted_list("the sizes of the list's " + std::to_string(list.count_) +
                          " elements extend beyond the list's end");
  list.sizes_ = bytes.subspan(4, 4 * list.count_);
  list.images_ = bytes.subspan(4 + 4 * list.count_);
  std::uint64_t size_bytes = 0;
  for (std::uint64_t i = 0; i < list.count_; ++i)
    size_bytes += read_little_endian(list.sizes_.data() + 4 * i);
  if (size_bytes != list.images_.size()) {
    return corrupted_list("the list's elements take " + std::to_string(size_bytes) +
                          " bytes, but the list has " + std::to_string(list.images_.size()));
  }
  return list;
}

}  // namespace ratoon::mds
