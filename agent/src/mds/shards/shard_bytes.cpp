#include "agent/src/mds/shards/shard_bytes.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/read_file.h"

namespace ratoon::mds {
namespace {

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

Result<FileIdentity> identify_file(int fd, const std::string& display_name) {
  struct stat about{};
  if (::fstat(fd, &about) != 0) return system_error(errno, "looking at " + display_name);
  if (!S_ISREG(about.st_mode)) return Error(ErrorKind::kInvalid, display_name + " is no regular file");
  return FileIdentity{.device = about.st_dev,
                      .inode = about.st_ino,
                      .size_bytes = static_cast<std::uint64_t>(about.st_size),
                      .modified_nanoseconds = nanoseconds(about.st_mtim),
                      .changed_nanoseconds = nanoseconds(about.st_ctim)};
}

Result<OpenFile> open_file(const std::filesystem::path& path) {
  OpenFile file{.fd = open_for_reading(path), .identity = {}, .display_name = path.string()};
  if (!file.fd.is_open()) return system_error(errno, "opening " + file.display_name);
  const auto identity = identify_file(file.fd.get(), file.display_name);
  if (!identity) return identity.error();
  file.identity = *identity;
  return file;
}

Result<ShardBytes> map_file(int fd, std::uint64_t size_bytes, const std::string& display_name) {
  if (size_bytes == 0) return ShardBytes();  // mmap() refuses a length of 0
  void* const at = ::mmap(nullptr, size_bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return system_error(errno, "mapping " + display_name);
  return ShardBytes{
      .bytes = {static_cast<const std::byte*>(at), size_bytes},
      .owner = std::shared_ptr<const void>(at, [at, size_bytes](const void*) { ::munmap(at, size_bytes); })};
}

ShardBytes allocate_shard(std::size_t size_bytes, std::span<std::byte>& room) {
  const std::shared_ptr<std::byte[]> memory = std::make_unique_for_overwrite<std::byte[]>(size_bytes);
  room = {memory.get(), size_bytes};
  return {.bytes = room, .owner = memory, .memory_bytes = size_bytes};
}

Result<ShardBytes> read_file(int fd, std::uint64_t size_bytes, const std::string& display_name) {
  std::span<std::byte> room;
  ShardBytes shard = allocate_shard(size_bytes, room);
  std::uint64_t at = 0;
  while (!room.empty()) {
    const ssize_t got = ::pread(fd, room.data(), room.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(errno, "reading " + display_name);
    if (got == 0) {
      return Error(ErrorKind::kCorrupted, display_name + " became shorter while it was read: " +
                                              std::to_string(room.size()) + " bytes are missing");
    }
    at += static_cast<std::uint64_t>(got);
    room = room.subspan(static_cast<std::size_t>(got));
  }
  return shard;
}

}  // namespace ratoon::mds
