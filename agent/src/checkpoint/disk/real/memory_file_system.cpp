#include "agent/src/checkpoint/disk/real/memory_file_system.h"

#include <cerrno>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/statfs.h>

#include "base/core/unique_fd.h"

namespace ratoon::checkpoint {

bool is_in_memory(int folder) {
  struct statfs status{};
  return ::fstatfs(folder, &status) == 0 && (status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC);
}

Result<bool> is_in_memory(const std::filesystem::path& folder) {
  for (std::filesystem::path at = std::filesystem::absolute(folder);; at = at.parent_path()) {
    const UniqueFd fd(::open(at.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (fd.is_open()) return is_in_memory(fd.get());
    if (errno != ENOENT || at == at.parent_path())
      return system_error(errno, "looking at " + folder.string());
  }
}

}  // namespace ratoon::checkpoint
