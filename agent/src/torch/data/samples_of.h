// torch/data/: Data for programs with LibTorch: samplers, data sets that are on a device, and batches as
// tensors.
//
// Converts slots (positions in a stream of samples) to sample numbers of a torch::data dataset. If there are
// several sources, their samples are numbered one source after the other, as in PyTorch's ConcatDataset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ratoon/stream_reader.h>

namespace ratoon::torch {

[[nodiscard]] std::vector<std::size_t> samples_of(const StreamReader& reader, SlotRange range);
[[nodiscard]] std::vector<std::size_t> samples_of(const StreamReader& reader, std::span<const Slot> slots);

// Returns the sample numbers of slots that all draw from the first source, source 0. Throws a Failure with
// exit code 82 if a slot draws from another source.
[[nodiscard]] std::vector<std::size_t> sample_indices_of_one_source(std::span<const Slot> slots);

// Returns the number of samples of all sources together.
[[nodiscard]] std::uint64_t count_samples(const StreamReader& reader);

}  // namespace ratoon::torch
