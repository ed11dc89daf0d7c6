// The numbers by which a torch::data dataset is asked for what slots hold. Sources of a mixture are numbered
// one after the other, as in a ConcatDataset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ratoon/stream_reader.h>

namespace ratoon::torch {

[[nodiscard]] std::vector<std::size_t> samples_of(const StreamReader& reader, SlotRange range);
[[nodiscard]] std::vector<std::size_t> samples_of(const StreamReader& reader, std::span<const Slot> slots);

// Without a reader sources have no places. Throws Failure (82) where a slot is not of the first one.
[[nodiscard]] std::vector<std::size_t> samples_of_one_source(std::span<const Slot> slots);

// Of all sources together.
[[nodiscard]] std::uint64_t samples_in(const StreamReader& reader);

}  // namespace ratoon::torch
