// The tensors of a checkpoint, joined from the parts that its ranks wrote, as sources for files of other
// programs: read and verified in pieces of bounded size when their turn comes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/interop/tensor_source.h"
#include "agent/src/checkpoint/pack/part_index.h"
#include "cli/checkpoint/open_packs.h"

namespace ratoon::cli {

inline constexpr std::uint64_t kSlabBytesMax = 16 * 1024 * 1024;

// Calls `take` for boxes that are the tensor, one after the other, row by row, none of more than `bytes_max`
// (or one element).
Result<void> for_each_slab(
    const TensorShape& shape, std::uint64_t element_bytes, std::uint64_t bytes_max,
    const std::function<Result<void>(const TensorShape& begin, const TensorShape& shape)>& take);

// Stays where it is while its sources are used; so do the packs.
class TensorStream {
 public:
  // Of the tensors that one of the patterns names. With `parts_as_they_are` a part counts as a tensor of its
  // own shape: what one rank had. Else the error names a tensor that the packs do not have whole, or that is
  // not the same on all ranks; generators of random numbers never are, and are left out.
  [[nodiscard]] static Result<TensorStream> make(const std::vector<OpenPack>& packs,
                                                 const std::vector<std::string>& patterns,
                                                 bool parts_as_they_are);

  // In the order of the packs. `on_read` is told how many bytes of tensors were handed on since the last
  // call.
  [[nodiscard]] std::vector<checkpoint::TensorSource> sources(
      const std::function<void(std::uint64_t)>& on_read) const;
  [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }
  [[nodiscard]] std::size_t parts_taken_as_they_are() const { return parts_taken_; }
  [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  TensorStream() = default;
  [[nodiscard]] Result<void> read(const checkpoint::TensorSpec& box, std::span<std::byte> into) const;

  const std::vector<OpenPack>* packs_ = nullptr;
  std::vector<checkpoint::PackHeader> headers_;  // of the packs, with the wanted tensors alone
  std::optional<checkpoint::PartIndex> index_;
  std::uint64_t size_bytes_ = 0;
  std::size_t parts_taken_ = 0;
  std::vector<std::string> left_out_;
};

}  // namespace ratoon::cli
