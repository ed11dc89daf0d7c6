// torch/data/: Batches for LibTorch: samplers, data sets on a device, batches as tensors.
//
// Converts slots to sample numbers of a torch::data dataset. Sources of a mixture are numbered one after the
// other, as in a ConcatDataset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ratoon/stream_reader.h>

namespace ratoon::torch {

[[nodiscard]] std::vector<std::size_t> samples_of(const StreamReader& reader, SlotRange range);
[[nodiscard]] std::vector<std::size_t> samples_of(const StreamReader& reader, std::span<const Slot> slots);

// All slots must be of one source. Throws a Failure with exit code 82 if a slot is not of source 0.
[[nodiscard]] std::vector<std::size_t> samples_of_one_source(std::span<const Slot> slots);

// Returns the number of samples of all sources together.
[[nodiscard]] std::uint64_t samples_in(const StreamReader& reader);

}  // namespace ratoon::torch
