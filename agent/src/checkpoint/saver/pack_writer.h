// Writes tensors from memory into a pack: one file with the checksums of its own bytes.
//
// The source is the memory of the tensors themselves, or an image, which is a copy of all tensors in the
// layout of the pack file.
#pragma once

#include <functional>
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

// When write_pack_file() returns, the file is durable under `path`, which must be a new name. The bytes of
// the tensors must not change before write_pack_file() returns. After a failure the temporary file, whose
// name contains `mark`, is removed.
[[nodiscard]] Result<PackRecord> write_pack_file(Disk& disk, const std::string& path, Rank rank,
                                                 std::span<const TensorView> tensors, std::string_view mark,
                                                 std::string_view owner = {});

// The layout of a pack file that contains the tensors which were passed to lay_out_image(). That function
// returns an error if a tensor does not have as many bytes as its type and shape require.
struct PackImageLayout {
  PackLayout layout;
  std::vector<std::size_t> order;  // layout.tensors[i] is tensors[order[i]]
};
[[nodiscard]] Result<PackImageLayout> lay_out_image(std::span<const TensorView> tensors,
                                                    std::string_view owner = {});

struct WrittenPack {
  PackRecord record;
  std::vector<Hash128> hashes;  // one per tensor, in the order of the layout
};
// Writes the same file as write_pack_file(), but from `image`, which has layout.file_bytes() bytes. If the
// copy into `image` still runs, waits for its bytes; `filling` says how many bytes are copied. Returns
// kCancelled if the copy into `image` was cancelled.
[[nodiscard]] Result<WrittenPack> write_pack_image(Disk& disk, const std::string& path, Rank rank,
                                                   const PackLayout& layout, std::span<const std::byte> image,
                                                   std::string_view mark, const CopyProgress& filling);

// Writes one tensor into a pack whose name depends on the content of the pack. `path_of` computes the path
// from the record of the pack. If the file exists, it has the same content and stays. The bytes are on the
// disk when write_pack_named_by_content() returns; the name is durable after the caller syncs the folder.
[[nodiscard]] Result<WrittenPack> write_pack_named_by_content(
    Disk& disk, const std::function<std::string(const PackRecord&)>& path_of, const TensorView& tensor,
    std::string_view mark, std::string_view owner);

}  // namespace ratoon::checkpoint
