// A copy that bypasses the processor's cache, for bytes that are read next by a disk and not by the program.
//
// memcpy() bypasses the cache only for blocks that are larger than most of the cache, such as 1 GiB. For
// tensors of some MiB, memcpy() first reads every cache line that it then overwrites.
#pragma once

#include <cstddef>
#include <span>

namespace ratoon::checkpoint {

// `to` has room for `from` and does not overlap it. Other threads see the bytes after normal synchronization.
void copy_streaming(std::span<const std::byte> from, std::byte* to);

}  // namespace ratoon::checkpoint
