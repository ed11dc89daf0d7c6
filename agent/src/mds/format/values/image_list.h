// Several images in a column have the bytes [u32 0, only in a list] u32 count, u32 sizes[count], images.
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
  // `kind` is kList or kJpegArray. Checks that the sizes add up to the length of `bytes`.
  [[nodiscard]] static Result<ImageList> read(EncodingKind kind, std::span<const std::byte> bytes);

  template <class Take>
  void walk(Take take) const {
    std::span<const std::byte> rest = images_;
    for (std::uint64_t i = 0; i < count_; ++i) {
      const std::size_t size_bytes = read_number(sizes_.data() + 4 * i);
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
