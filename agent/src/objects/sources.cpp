#include "agent/src/objects/sources.h"

#include <algorithm>
#include <cerrno>

#include <unistd.h>

#include "base/core/hex.h"

namespace ratoon::objects {
Result<void> MemorySource::read(std::uint64_t offset, std::span<char> into) {
  const std::string_view wanted = bytes_.substr(offset, into.size());
  std::copy(wanted.begin(), wanted.end(), into.begin());
  return {};
}

Result<void> FileSource::read(std::uint64_t offset, std::span<char> into) {
  while (!into.empty()) {
    const ssize_t count = ::pread(fd_, into.data(), into.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(errno, "reading " + display_name_);
    if (count == 0) {
      return Error(ErrorKind::kCorrupted, display_name_ +
                                              " became shorter while it was sent: " + std::to_string(offset) +
                                              " bytes instead of " + std::to_string(size_bytes_));
    }
    offset += static_cast<std::uint64_t>(count);
    into = into.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

Result<void> check_source_crc32c(std::optional<std::uint32_t> expected_crc32c, std::uint32_t crc32c,
                                 std::string_view uri) {
  if (!expected_crc32c || *expected_crc32c == crc32c) return {};
  return Error(ErrorKind::kCorrupted, "the bytes for " + std::string(uri) + " have the CRC32C " +
                                          to_hex(crc32c) + ", expected is " + to_hex(*expected_crc32c) +
                                          ": the bytes changed after their checksum was computed; nothing "
                                          "was stored");
}

}  // namespace ratoon::objects
