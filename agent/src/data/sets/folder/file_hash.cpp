#include "agent/src/data/sets/folder/file_hash.h"

#include <cerrno>
#include <memory>
#include <span>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/src/data/sets/mapped_file.h"
#include "base/core/read_file.h"

namespace ratoon::data {
namespace {

constexpr std::size_t kReadChunkBytes = std::size_t{1} << 20;

}  // namespace

Result<HashedFile> hash_file(const std::filesystem::path& path, std::uint64_t skipped_bytes) {
  const std::string doing = "hashing " + path.string();
  const UniqueFd fd = open_for_reading(path);
  struct stat before{};
  if (!fd.is_open() || ::fstat(fd.get(), &before) != 0) return system_error(errno, doing);
  if (!S_ISREG(before.st_mode)) return Error(ErrorKind::kInvalid, doing + ": it is no regular file");
  if (::lseek(fd.get(), static_cast<off_t>(skipped_bytes), SEEK_SET) < 0) return system_error(errno, doing);
  Xxh3Stream hash;
  const auto piece = std::make_unique_for_overwrite<std::byte[]>(kReadChunkBytes);
  for (;;) {
    const ssize_t count = ::read(fd.get(), piece.get(), kReadChunkBytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(errno, doing);
    if (count == 0) break;
    hash.update({piece.get(), static_cast<std::size_t>(count)});
  }
  struct stat after{};
  if (::fstat(fd.get(), &after) != 0) return system_error(errno, doing);
  if (before.st_size != after.st_size || modified_nanoseconds(before) != modified_nanoseconds(after)) {
    return Error(ErrorKind::kConflict,
                 doing + ": the file changed during the read. Write data to a new file, and rename it");
  }
  return HashedFile{.bytes = static_cast<std::uint64_t>(after.st_size),
                    .modified_nanoseconds = modified_nanoseconds(after),
                    .hash = hash.digest128()};
}

}  // namespace ratoon::data
