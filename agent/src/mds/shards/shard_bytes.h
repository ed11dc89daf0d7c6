// ShardBytes: a shard's bytes, in a mapped file or in memory. The bytes are valid as long as a copy of
// `owner` exists.
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
  std::uint64_t memory_bytes = 0;  // this process's own memory that it uses; a mapped file uses none
  std::uint64_t pinned_bytes = 0;  // of a cache's file that is protected from eviction
};

// A FileIdentity identifies a file, and changes when the file is written to.
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
  std::string display_name;  // for messages
};

// Opens a regular file for reading.
[[nodiscard]] Result<OpenFile> open_file(const std::filesystem::path& path);

// Returns the identity of an open file. `display_name` is the name of the shard for error messages. Returns
// an error if the path is not that of a regular file.
[[nodiscard]] Result<FileIdentity> identify_file(int fd, const std::string& display_name);

// Maps a file into memory. The file may be removed or replaced while it is mapped. If the file is truncated
// or its disk fails, reading the mapping ends the process with SIGBUS. Use read_file() to avoid SIGBUS.
[[nodiscard]] Result<ShardBytes> map_file(int fd, std::uint64_t size_bytes, const std::string& display_name);
[[nodiscard]] Result<ShardBytes> read_file(int fd, std::uint64_t size_bytes, const std::string& display_name);

// Allocates uninitialized memory of this process. `room` is the memory to which the file's bytes are written.
[[nodiscard]] ShardBytes allocate_shard(std::size_t size_bytes, std::span<std::byte>& room);

}  // namespace ratoon::mds
