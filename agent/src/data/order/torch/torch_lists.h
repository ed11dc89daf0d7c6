// data/order/torch/: Reproduces the orders of PyTorch's samplers, bit for bit.
//
// A list with the order of an epoch's samples is large, so a process keeps each list only once. A list that
// is stored in a file is shared by all processes of a machine, and a restarted process need not compute it
// again.
#pragma once

#include <cstdint>
#include <string>

#include <ratoon/torch_random.h>

namespace ratoon::data {

// Returns torch.randperm(size) for a torch.Generator that was seeded with `seed`. If `folder` is not empty,
// it must exist: the list is read from a file in it, or is stored there for later calls. The files of this
// list and of the previous list are kept; older files are removed.
//
// Throws Failure if the folder is missing. If the folder is read-only, the call stores no list in it.
[[nodiscard]] IndexList torch_list(std::uint64_t size, std::uint64_t seed, TorchRelease release,
                                   const std::string& folder);

}  // namespace ratoon::data
