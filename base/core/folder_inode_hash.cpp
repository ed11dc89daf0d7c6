#include "base/core/folder_inode_hash.h"

#include <array>
#include <span>

#include <fcntl.h>
#include <sys/stat.h>

#include "base/core/xxh3.h"

namespace ratoon {

std::uint64_t folder_inode_hash(const std::filesystem::path& folder) {
  struct statx facts{};
  if (::statx(AT_FDCWD, folder.c_str(), 0, STATX_INO | STATX_BTIME, &facts) != 0) return 0;
  std::array<std::uint64_t, 3> identity{facts.stx_ino, 0, 0};
  if ((facts.stx_mask & STATX_BTIME) != 0) {
    identity[1] = static_cast<std::uint64_t>(facts.stx_btime.tv_sec);
    identity[2] = facts.stx_btime.tv_nsec;
  }
  return xxh3_64(std::as_bytes(std::span(identity)));
}

}  // namespace ratoon
