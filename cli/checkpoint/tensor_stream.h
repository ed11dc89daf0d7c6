// Joins the tensors of a checkpoint from the parts that its ranks wrote, for export to other formats. A
// tensor is read and verified in pieces of limited size, one tensor after the other.
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

// Divides the tensor into boxes, in row order, and calls `take` for each. A box (a part of the tensor) has at
// most `bytes_max` bytes, or a single element.
Result<void> for_each_slab(
    const TensorShape& shape, std::uint64_t element_bytes, std::uint64_t bytes_max,
    const std::function<Result<void>(const TensorShape& begin, const TensorShape& shape)>& take);

// The TensorStream and its packs must outlive the sources that it returns and must not move.
class TensorStream {
 public:
  // Selects the tensors whose name matches a pattern. With `parts_as_they_are` each rank's part of a shared
  // tensor counts as a tensor of its own. Without `parts_as_they_are` make() joins the parts, and returns an
  // error if a tensor's parts do not cover it or ranks disagree. In both cases the states of random
  // generators that several ranks have are left out, because these states differ on each rank.
  [[nodiscard]] static Result<TensorStream> make(const std::vector<OpenPack>& packs,
                                                 const std::vector<std::string>& patterns,
                                                 bool parts_as_they_are);

  // Returns the tensors in the order of the packs. `on_read` gets the number of tensor bytes that were passed
  // on since its last call.
  [[nodiscard]] std::vector<checkpoint::TensorSource> sources(
      const std::function<void(std::uint64_t)>& on_read) const;
  [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }
  [[nodiscard]] std::size_t unjoined_parts() const { return unjoined_parts_; }
  [[nodiscard]] const std::vector<std::string>& left_out_tensors() const { return left_out_tensors_; }

 private:
  TensorStream() = default;
  [[nodiscard]] Result<void> read(const checkpoint::TensorSpec& box, std::span<std::byte> into) const;

  const std::vector<OpenPack>* packs_ = nullptr;
  std::vector<checkpoint::PackHeader> headers_;  // of the packs, with the wanted tensors alone
  std::optional<checkpoint::PartIndex> index_;
  std::uint64_t size_bytes_ = 0;
  std::size_t unjoined_parts_ = 0;
  std::vector<std::string> left_out_tensors_;
};

}  // namespace ratoon::cli
