// data/order/torch/: Reproduces the orders of PyTorch's samplers, bit for bit.
//
// The list of an epoch's order is large, so a process keeps each list only once. If a list is
// stored in a file, all processes of a machine share it, and a restarted process need not compute
// it again.
#pragma once

#include <cstdint>
#include <string>

#include <ratoon/torch_random.h>

namespace ratoon::data {

// Returns torch.randperm(size) for a torch.Generator that was seeded with `seed`. If `folder` is not empty,
// it must exist: the list is read from a file in it, or is stored there for later calls.
// cached_torch_randperm() keeps the files of the two newest lists in `folder` and removes older files.
//
// Throws Failure if `folder` is missing. If `folder` is read-only, cached_torch_randperm() stores no list in
// it.
[[nodiscard]] IndexList cached_torch_randperm(std::uint64_t size, std::uint64_t seed, TorchRelease release,
                                              const std::string& folder);

}  // namespace ratoon::data
