// Staging: copies tensors into memory (a slot), in the layout of the pack file, so that training can change
// the tensors again.
//
// Training waits only for the copy of the tensors into the slot. Computing checksums would take as long as
// the copy, so the thread that writes the file computes the checksums later. The header is written first,
// with zeros as checksums: if this process dies, a later process can complete the pack file from the slot.
#pragma once

#include <optional>
#include <span>
#include <string>

#include <ratoon/result.h>
#include <ratoon/tensor_view.h>

#include "agent/src/checkpoint/pack/header/layout.h"
#include "agent/src/checkpoint/parts/split_parts.h"
#include "agent/src/checkpoint/saver/pack_writer.h"
#include "agent/src/checkpoint/staging/copy_progress.h"

namespace ratoon::checkpoint {

// Copies the tensors into `to`, which has plan.layout.file_bytes() bytes. Reports to `filling` how many bytes
// are copied.
void copy_to_image(const PackImageLayout& plan, std::span<const TensorView> tensors, std::span<std::byte> to,
                   CopyProgress& filling);

// Returns the name of a tensor that differs from its copy because another thread changes it during the save.
// Compares only samples of the bytes: the ends of each tensor and some positions between them.
[[nodiscard]] std::optional<std::string> find_changed(const PackImageLayout& plan,
                                                      std::span<const TensorView> tensors,
                                                      std::span<const std::byte> image);

// Copies the rows of parts.to_write into `to`, one part after the other. `copied` must have the same parts as
// `parts`; copy_rows() sets the rows of `copied` to the copies.
void copy_rows(const PartsOfSave& parts, std::span<std::byte> to, PartsOfSave& copied);
// Returns the name of a tensor whose rows differ from their copies, as find_changed() does.
[[nodiscard]] std::optional<std::string> find_changed_rows(const PartsOfSave& parts,
                                                           const PartsOfSave& copied);

// Decodes the layout from the header that copy_to_image() wrote into the image of a file of `file_bytes`
// bytes.
[[nodiscard]] Result<PackLayout> read_layout(std::span<const std::byte> image, std::uint64_t file_bytes);

}  // namespace ratoon::checkpoint
