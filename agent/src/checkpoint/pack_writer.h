// Writing a pack: tensors that lie in memory become one file that verifies itself.
//
// Either from where they lie, or from one copy of them in which each lies as it will in the file.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>
#include <ratoon/tensor_view.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/manifest.h"
#include "agent/src/checkpoint/pack/layout.h"
#include "agent/src/checkpoint/staging/filling.h"
#include "base/core/xxh3.h"

namespace ratoon::checkpoint {

// Durable under its name when it returns, which must be a new one. The views' bytes stay as they are
// meanwhile. The temporary file that `mark` names is gone after a failure.
[[nodiscard]] Result<PackRecord> write_pack_file(Disk& disk, const std::string& path, Rank rank,
                                                 std::span<const TensorView> tensors, std::string_view mark,
                                                 std::string_view owner = {});

// Where the bytes of some tensors go in a pack; each has been found to have as many as type and shape say.
struct PackImage {
  PackLayout layout;
  std::vector<std::size_t> order;  // layout.tensors[i] is tensors[order[i]]
};
[[nodiscard]] Result<PackImage> lay_out_image(std::span<const TensorView> tensors,
                                              std::string_view owner = {});

struct WrittenPack {
  PackRecord record;
  std::vector<Hash128> hashes;  // of each tensor, as in the layout
};
// As write_pack_file. `image` is layout.file_bytes() long; what `filling` says is not there yet is waited
// for. kCancelled: it will never be.
[[nodiscard]] Result<WrittenPack> write_pack_image(Disk& disk, const std::string& path, Rank rank,
                                                   const PackLayout& layout, std::span<const std::byte> image,
                                                   std::string_view mark, const Filling& filling);

}  // namespace ratoon::checkpoint
