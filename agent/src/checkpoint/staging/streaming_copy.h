// Copies bytes with stores that bypass the processor's cache, because the disk and not the program reads
// these bytes next.
//
// memcpy() bypasses the cache only for blocks that are larger than most of the cache, such as 1 GiB. For
// smaller tensors, such as 4 MiB, memcpy() first reads every cache line that it then overwrites, which takes
// time.
#pragma once

#include <cstddef>
#include <span>

namespace ratoon::checkpoint {

// `to` must be at least as long as `from` and must not overlap it. After copy_streaming(), ordinary
// synchronization (such as a mutex) makes the bytes visible to other threads.
void copy_streaming(std::span<const std::byte> from, std::byte* to);

}  // namespace ratoon::checkpoint
