// Staging: what training goes on to change is copied into a slot, once, as the file will have it.
//
// The copy is all that training waits for. Sums cost about as much again as the copy and are made by whoever
// writes the file; the header is there at once, with zeros for sums, so that a process that comes later finds
// in the slot all that it needs to finish the file.
#pragma once

#include <optional>
#include <span>
#include <string>

#include <ratoon/result.h>
#include <ratoon/tensor_view.h>

#include "agent/src/checkpoint/pack/layout.h"
#include "agent/src/checkpoint/pack_writer.h"
#include "agent/src/checkpoint/staging/filling.h"

namespace ratoon::checkpoint {

// `to` has room for plan.layout.file_bytes(). `filling` is told how far it has come.
void copy_to_image(const PackImage& plan, std::span<const TensorView> tensors, std::span<std::byte> to,
                   Filling& filling);

// A tensor that is not what was copied: somebody changes it while it is saved. Looks at samples: the ends of
// each tensor and some places between.
[[nodiscard]] std::optional<std::string> find_changed(const PackImage& plan,
                                                      std::span<const TensorView> tensors,
                                                      std::span<const std::byte> image);

// The layout that copy_to_image() left in the image of a file of `file_bytes`.
[[nodiscard]] Result<PackLayout> read_layout(std::span<const std::byte> image, std::uint64_t file_bytes);

}  // namespace ratoon::checkpoint
