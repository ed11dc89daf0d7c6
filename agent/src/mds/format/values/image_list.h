// A value that consists of several images has the number of images (u32), the size of each image in bytes
// (u32), and the images. In the encoding kList, a u32 of value 0 precedes the number of images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ratoon/result.h>

#include "agent/src/mds/format/little_endian.h"
#include "agent/src/mds/format/values/encoding.h"

namespace ratoon::mds {

class ImageList {
 public:
  // `kind` must be kList or kJpegArray. Checks that the sizes of the images add up to the length of `bytes`.
  [[nodiscard]] static Result<ImageList> read(EncodingKind kind, std::span<const std::byte> bytes);

  template <class Take>
  void for_each_value(Take take) const {
    std::span<const std::byte> rest = images_;
    for (std::uint64_t i = 0; i < count_; ++i) {
      const std::size_t size_bytes = read_little_endian(sizes_.data() + 4 * i);
      if (size_bytes > rest.size()) return;  // the file changed since read()
      take(rest.first(size_bytes));
      rest = rest.subspan(size_bytes);
    }
  }

 private:
  std::uint64_t count_ = 0;
  std::span<const std::byte> sizes_{};
  std::span<const std::byte> images_{};
};

}  // namespace ratoon::mds
