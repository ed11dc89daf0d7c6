// data/order/torch/: Reproduces the orders of PyTorch's samplers, bit for bit.
//
// The list of an epoch's samples is large. A process keeps each list once. Optionally a list is also a file,
// which the processes of a machine share and which a restarted process maps at once.
#pragma once

#include <cstdint>
#include <string>

#include <ratoon/torch_random.h>

namespace ratoon::data {

// Returns torch.randperm(size) for a torch.Generator that was seeded with `seed`. With a folder, which must
// exist, the list is read from a file in the folder, or is stored there for later calls. The file of the
// previous list is kept too; older files are removed.
//
// Throws Failure if the folder is missing. If the folder is read-only, no list is stored.
[[nodiscard]] IndexList torch_list(std::uint64_t size, std::uint64_t seed, TorchRelease release,
                                   const std::string& folder);

}  // namespace ratoon::data
