// ByteSink: the destination of a file that is written from its beginning to its end, piece by piece.
#pragma once

#include <cstddef>
#include <span>

#include <ratoon/result.h>

namespace ratoon::checkpoint {

class ByteSink {
 public:
  virtual ~ByteSink() = default;

  // Appends `bytes` after the bytes of earlier calls. Do not call append() again after an error.
  [[nodiscard]] virtual Result<void> append(std::span<const std::byte> bytes) = 0;
};

}  // namespace ratoon::checkpoint
