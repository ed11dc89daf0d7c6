// The bytes of a shard, mapped from its file or in memory, for as long as somebody holds them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include <ratoon/result.h>

#include "base/core/unique_fd.h"

namespace ratoon::mds {

struct ShardBytes {
  std::span<const std::byte> bytes{};
  std::shared_ptr<const void> owner{};
  std::uint64_t memory_bytes = 0;  // what it takes of this process's own memory; a mapped file takes none
  std::uint64_t held_bytes = 0;    // of a cache's file that is kept from being evicted
};

// What tells a file, and this state of it, from every other one.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size_bytes = 0;
  std::int64_t modified_nanoseconds = 0;
  std::int64_t changed_nanoseconds = 0;

  friend auto operator<=>(const FileIdentity&, const FileIdentity&) = default;
};

struct OpenFile {
  UniqueFd fd;
  FileIdentity identity;
  std::string shown;  // for messages
};

// A regular file, open for reading.
[[nodiscard]] Result<OpenFile> open_file(const std::filesystem::path& path);

// Who a file is; `shown` is for messages. Refuses what is no regular file.
[[nodiscard]] Result<FileIdentity> identify(int fd, const std::string& shown);

// The file may be removed or replaced while it is mapped. One that is cut short ends a process that touches
// what is gone (SIGBUS), and so does a disk that fails to read: that is what read_file() is for.
[[nodiscard]] Result<ShardBytes> map_file(int fd, std::uint64_t size_bytes, const std::string& shown);
[[nodiscard]] Result<ShardBytes> read_file(int fd, std::uint64_t size_bytes, const std::string& shown);

// Uninitialized memory of this process; `room` is where to write.
[[nodiscard]] ShardBytes allocate_shard(std::size_t size_bytes, std::span<std::byte>& room);

}  // namespace ratoon::mds
