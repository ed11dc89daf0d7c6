// Writes tensors from memory into a pack: one file with the checksums of its own bytes.
//
// The source is the memory of the tensors, or an image: one copy of them in the layout of the file.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>
#include <ratoon/tensor_view.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/format/manifest.h"
#include "agent/src/checkpoint/pack/header/layout.h"
#include "agent/src/checkpoint/staging/copy_progress.h"
#include "base/core/xxh3.h"

namespace ratoon::checkpoint {

// When the call returns, the file is durable under `path`, which must be a new name. The bytes of the views
// must not change during the call. After a failure the temporary file that `mark` names is removed.
[[nodiscard]] Result<PackRecord> write_pack_file(Disk& disk, const std::string& path, Rank rank,
                                                 std::span<const TensorView> tensors, std::string_view mark,
                                                 std::string_view owner = {});

// The layout of a pack for some tensors. Each tensor has as many bytes as its type and shape require.
struct PackImage {
  PackLayout layout;
  std::vector<std::size_t> order;  // layout.tensors[i] is tensors[order[i]]
};
[[nodiscard]] Result<PackImage> lay_out_image(std::span<const TensorView> tensors,
                                              std::string_view owner = {});

struct WrittenPack {
  PackRecord record;
  std::vector<Hash128> hashes;  // one per tensor, in the order of the layout
};
// Writes `image`, of layout.file_bytes() bytes, as write_pack_file() writes tensors. Waits for bytes that
// `filling` lacks. Returns kCancelled if the copy was cancelled.
[[nodiscard]] Result<WrittenPack> write_pack_image(Disk& disk, const std::string& path, Rank rank,
                                                   const PackLayout& layout, std::span<const std::byte> image,
                                                   std::string_view mark, const CopyProgress& filling);

}  // namespace ratoon::checkpoint
