// The lists of epochs, which are large: one of a kind is kept once a process and, if asked, as a file that
// the processes of a machine share and that a restarted one maps at once.
#pragma once

#include <cstdint>
#include <string>

#include <ratoon/torch_random.h>

namespace ratoon::data {

// What torch.randperm(size) gives with a generator of that seed. With a folder, which must exist, the list
// comes from a file there, or is left there for the next who asks; the file before it is kept too, older ones
// go.
//
// Throws Failure where the folder is missing. One that cannot be written costs time at the next start, no
// more.
[[nodiscard]] IndexList torch_list(std::uint64_t size, std::uint64_t seed, TorchRelease release,
                                   const std::string& folder);

}  // namespace ratoon::data
