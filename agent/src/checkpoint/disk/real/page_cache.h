// Functions that find and read the part of a file that is in the system's page cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace ratoon::checkpoint {

// Returns true if all of these bytes of a file are in the page cache. Asks the kernel only, and does not
// access the disk. Returns nothing if the kernel does not answer: Linux before 6.5 never answers, and later
// versions do not answer for files that this process neither owns nor may write.
[[nodiscard]] std::optional<bool> is_remembered(int fd, std::uint64_t at, std::uint64_t bytes);

// Fills the beginning of `bytes` with the bytes of the file that are in the page cache, without waiting for a
// disk, and returns their number.
[[nodiscard]] std::uint64_t read_without_waiting(int fd, std::uint64_t at, std::span<std::byte> bytes);

}  // namespace ratoon::checkpoint
