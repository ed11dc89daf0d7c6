// Functions for the part of a file that is in the system's page cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace ratoon::checkpoint {

// Whether all of these bytes of a file are in the page cache. Does not access the disk. Returns nothing if
// the system cannot tell: on kernels before 6.5, and for files that this process neither owns nor may
// write.
[[nodiscard]] std::optional<bool> is_remembered(int fd, std::uint64_t at, std::uint64_t bytes);

// Reads the beginning of `bytes`, as far as no disk is needed, and returns the number of bytes that were
// read.
[[nodiscard]] std::uint64_t read_without_waiting(int fd, std::uint64_t at, std::span<std::byte> bytes);

}  // namespace ratoon::checkpoint
