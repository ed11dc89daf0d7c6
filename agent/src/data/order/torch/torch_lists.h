// data/order/torch/: The orders of PyTorch's samplers, bit for bit.
//
// The lists of epochs, which are large. Each list is kept once per process and optionally as a file, which
// the processes of a machine share and which a restarted process maps at once.
#pragma once

#include <cstdint>
#include <string>

#include <ratoon/torch_random.h>

namespace ratoon::data {

// Returns torch.randperm(size) for a generator with that seed. With a folder, which must exist, the list is
// read from a file in it, or is stored there for later calls. The previous file is kept too; older files are
// removed.
//
// Throws Failure if the folder is missing. If the folder cannot be written, the next start only takes longer.
[[nodiscard]] IndexList torch_list(std::uint64_t size, std::uint64_t seed, TorchRelease release,
                                   const std::string& folder);

}  // namespace ratoon::data
