// BufferedObject: keeps the bytes of an object in memory until it is uploaded under its name. The bytes of
// the object may be added in pieces, in any order. A piece is copied, or borrowed from a caller that keeps it
// unchanged until the upload ends. A pack in a staging slot is borrowed, so that memory holds no second copy
// of it.
//
// Thread contract: one thread adds pieces. When all bytes were added, any number of threads may read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/objects/object_store.h"

namespace ratoon::checkpoint {

class BufferedObject final : public objects::ObjectSource {
 public:
  // Returns kInvalid if some of the `bytes` were added before, and kNoSpace if there is no memory for a copy.
  [[nodiscard]] Result<void> copy(std::uint64_t at, std::span<const std::byte> bytes);
  [[nodiscard]] Result<void> borrow(std::uint64_t at, std::span<const std::byte> bytes);

  // Returns true if no byte between the first and the last is missing.
  [[nodiscard]] bool is_whole() const;
  [[nodiscard]] std::uint64_t size_bytes() const override;
  [[nodiscard]] Result<void> read(std::uint64_t offset, std::span<char> into) override;

 private:
  struct Piece {
    std::vector<std::byte> own;  // empty: borrowed
    std::span<const std::byte> bytes;
  };
  [[nodiscard]] Result<void> add(std::uint64_t at, Piece piece);

  std::map<std::uint64_t, Piece> pieces_;  // by position; none is empty, and none overlap
};

}  // namespace ratoon::checkpoint
