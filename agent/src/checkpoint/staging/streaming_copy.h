// A copy past the processor's cache, for what is read next by a disk and not by a program.
//
// memcpy() does that only for blocks that are larger than most of the cache: a GiB in one piece. A state is
// tensors of some MiB each, and of those it first reads every line that it then overwrites.
#pragma once

#include <cstddef>
#include <span>

namespace ratoon::checkpoint {

// `to` has room, and does not overlap. Other threads see the bytes once they are handed over as any others
// are.
void copy_streaming(std::span<const std::byte> from, std::byte* to);

}  // namespace ratoon::checkpoint
