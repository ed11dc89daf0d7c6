// What the system remembers of a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace ratoon::checkpoint {

// Whether all of these bytes of a file are in the page cache. Asks nothing of the file's disk. Nothing where
// the system does not tell: kernels before 6.5, and files that are neither ours nor writable for us.
[[nodiscard]] std::optional<bool> is_remembered(int fd, std::uint64_t at, std::uint64_t bytes);

// Reads as much of them as no disk is needed for, from the first one on, and says how much that was.
[[nodiscard]] std::uint64_t read_without_waiting(int fd, std::uint64_t at, std::span<std::byte> bytes);

}  // namespace ratoon::checkpoint
