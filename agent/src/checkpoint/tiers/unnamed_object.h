// UnnamedObject: the bytes of an object that has no name in its store yet, in memory until it is uploaded.
// They come in pieces, in any order: copied, or lent by who keeps them as they are until the upload is over,
// so that a pack which lies in a staging slot is not in memory twice.
//
// Thread contract: one thread adds; once it is whole, any number reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/objects/object_store.h"

namespace ratoon::checkpoint {

class UnnamedObject final : public objects::ObjectSource {
 public:
  // kInvalid: some of these bytes have come before. kNoSpace: there is no memory for a copy.
  [[nodiscard]] Result<void> copy(std::uint64_t at, std::span<const std::byte> bytes);
  [[nodiscard]] Result<void> borrow(std::uint64_t at, std::span<const std::byte> bytes);

  // Whether all bytes from the first to the last have come.
  [[nodiscard]] bool is_whole() const;
  [[nodiscard]] std::uint64_t size_bytes() const override;
  [[nodiscard]] Result<void> read(std::uint64_t offset, std::span<char> into) override;

 private:
  struct Piece {
    std::vector<std::byte> own;  // empty: lent
    std::span<const std::byte> bytes;
  };
  [[nodiscard]] Result<void> add(std::uint64_t at, Piece piece);

  std::map<std::uint64_t, Piece> pieces_;  // by where they begin; none is empty, no two share a byte
};

}  // namespace ratoon::checkpoint
