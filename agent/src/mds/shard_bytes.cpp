#include "agent/src/mds/shard_bytes.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ratoon::mds {
namespace {

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

Result<OpenFile> open_file(const std::filesystem::path& path) {
  OpenFile file{
      .fd = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), .identity = {}, .shown = path.string()};
  if (!file.fd.is_open()) return system_error(errno, "opening " + file.shown);
  struct stat about{};
  if (::fstat(file.fd.get(), &about) != 0) return system_error(errno, "looking at " + file.shown);
  if (!S_ISREG(about.st_mode)) return Error(ErrorKind::kInvalid, file.shown + " is no regular file");
  file.identity = {.device = about.st_dev,
                   .inode = about.st_ino,
                   .size_bytes = about.st_size,
                   .modified_nanoseconds = nanoseconds(about.st_mtim),
                   .changed_nanoseconds = nanoseconds(about.st_ctim)};
  return file;
}

Result<ShardBytes> map_file(const OpenFile& file) {
  const auto size = static_cast<std::size_t>(file.identity.size_bytes);
  if (size == 0) return ShardBytes();  // there are no mappings of nothing
  void* const at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.fd.get(), 0);
  if (at == MAP_FAILED) return system_error(errno, "mapping " + file.shown);
  return ShardBytes{
      .bytes = {static_cast<const std::byte*>(at), size},
      .owner = std::shared_ptr<const void>(at, [at, size](const void*) { ::munmap(at, size); })};
}

ShardBytes allocate_shard(std::size_t size_bytes, std::span<std::byte>& room) {
  const std::shared_ptr<std::byte[]> memory = std::make_unique_for_overwrite<std::byte[]>(size_bytes);
  room = {memory.get(), size_bytes};
  return {.bytes = room, .owner = memory, .memory_bytes = size_bytes};
}

Result<ShardBytes> read_file(const OpenFile& file) {
  std::span<std::byte> room;
  ShardBytes shard = allocate_shard(static_cast<std::size_t>(file.identity.size_bytes), room);
  while (!room.empty()) {
    const ssize_t got = ::read(file.fd.get(), room.data(), room.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(errno, "reading " + file.shown);
    if (got == 0) {
      return Error(ErrorKind::kCorrupted, file.shown + " was cut short while it was read: " +
                                              std::to_string(room.size()) + " bytes are missing");
    }
    room = room.subspan(static_cast<std::size_t>(got));
  }
  return shard;
}

}  // namespace ratoon::mds
