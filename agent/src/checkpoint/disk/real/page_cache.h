// Functions that find and read the part of a file that is in the system's page cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace ratoon::checkpoint {

// Returns true if all `bytes` bytes of the file from offset `at` on are in the page cache. Asks the kernel,
// and does not access the disk. Returns nothing if the kernel does not say whether bytes are cached: Linux
// before 6.5 never says it, and later versions say it only for files that this process owns or may write.
[[nodiscard]] std::optional<bool> is_in_page_cache(int fd, std::uint64_t at, std::uint64_t bytes);

// Reads the file from offset `at` on, up to the first byte that is not in the page cache. Does not wait for a
// disk. Returns the number of bytes that it stored at the beginning of `bytes`.
[[nodiscard]] std::uint64_t read_cached_bytes(int fd, std::uint64_t at, std::span<std::byte> bytes);

}  // namespace ratoon::checkpoint
