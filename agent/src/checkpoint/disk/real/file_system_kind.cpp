#include "agent/src/checkpoint/disk/real/file_system_kind.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/statfs.h>

#include "base/core/unique_fd.h"

namespace ratoon::checkpoint {
namespace {

// The header linux/magic.h does not define the kinds of file systems below.
constexpr std::int64_t kZfs = 0x2fc12fc1;
constexpr std::int64_t kJfs = 0x3153464a;
constexpr std::int64_t kBcachefs = 0xca451a4e;

constexpr std::array<std::int64_t, 11> kLocalKinds = {BTRFS_SUPER_MAGIC,
                                                      EXT4_SUPER_MAGIC,
                                                      F2FS_SUPER_MAGIC,
                                                      OVERLAYFS_SUPER_MAGIC,
                                                      RAMFS_MAGIC,
                                                      TMPFS_MAGIC,
                                                      XFS_SUPER_MAGIC,
                                                      REISERFS_SUPER_MAGIC,
                                                      kZfs,
                                                      kJfs,
                                                      kBcachefs};

// 0 means that the kind is unknown: no file system has this number.
std::int64_t kind_of(int folder) {
  struct statfs status{};
  return ::fstatfs(folder, &status) == 0 ? static_cast<std::int64_t>(status.f_type) : 0;
}

Result<UniqueFd> open_it_or_above(const std::filesystem::path& folder) {
  for (std::filesystem::path at = std::filesystem::absolute(folder);; at = at.parent_path()) {
    UniqueFd fd(::open(at.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (fd.is_open()) return fd;
    if (errno != ENOENT || at == at.parent_path())
      return system_error(errno, "looking at " + folder.string());
  }
}

}  // namespace

bool is_local_kind(std::int64_t kind) {
  return std::ranges::find(kLocalKinds, kind) != kLocalKinds.end();
}

bool is_in_memory(int folder) {
  const std::int64_t kind = kind_of(folder);
  return kind == TMPFS_MAGIC || kind == RAMFS_MAGIC;
}

Result<bool> is_in_memory(const std::filesystem::path& folder) {
  const auto fd = open_it_or_above(folder);
  if (!fd) return fd.error();
  return is_in_memory(fd->get());
}

Result<bool> is_local(const std::filesystem::path& folder) {
  const auto fd = open_it_or_above(folder);
  if (!fd) return fd.error();
  return is_local_kind(kind_of(fd->get()));
}

}  // namespace ratoon::checkpoint
