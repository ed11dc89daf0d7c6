// Staging: copies tensors into a slot once, in the layout of the file, so that
// training can change them again.
//
// Training waits only for this copy of the tensors. Computing checksums would take about as long again, so
// the thread that writes the file computes them. The header is stored at once, with zeros as checksums, so
// that a later process finds in the slot everything that it needs to finish the file.
#pragma once

#include <optional>
#include <span>
#include <string>

#include <ratoon/result.h>
#include <ratoon/tensor_view.h>

#include "agent/src/checkpoint/pack/header/layout.h"
#include "agent/src/checkpoint/saver/pack_writer.h"
#include "agent/src/checkpoint/staging/copy_progress.h"

namespace ratoon::checkpoint {

// Copies the tensors into `to`, which has plan.layout.file_bytes() bytes. Reports the progress to `filling`.
void copy_to_image(const PackImage& plan, std::span<const TensorView> tensors, std::span<std::byte> to,
                   CopyProgress& filling);

// Returns the name of a tensor that differs from its copy because another thread changes it during the save.
// Compares samples: the ends of each tensor and some positions between them.
[[nodiscard]] std::optional<std::string> find_changed(const PackImage& plan,
                                                      std::span<const TensorView> tensors,
                                                      std::span<const std::byte> image);

// Returns the layout that copy_to_image() wrote into the image of a file of `file_bytes`.
[[nodiscard]] Result<PackLayout> read_layout(std::span<const std::byte> image, std::uint64_t file_bytes);

}  // namespace ratoon::checkpoint
