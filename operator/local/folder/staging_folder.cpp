#include "operator/local/folder/staging_folder.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "operator/local/folder/run_folder.h"

namespace ratoon::local {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kStagingMode = 0700;

fs::path staging_path_of(const fs::path& memory_root, const fs::path& run_folder) {
  return memory_root / run_resource_name(run_folder);
}

// Checks that the folder belongs to this user, because any user can create files with this name in /dev/shm.
Result<void> check_private(const fs::path& folder) {
  struct stat info{};
  if (::lstat(folder.c_str(), &info) != 0) return system_error(errno, "looking at " + folder.string());
  constexpr mode_t kOfOthers = 077;
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & kOfOthers) != 0) {
    return Error(ErrorKind::kPermissionDenied, folder.string() + " is not private to this user: remove it");
  }
  return {};
}

}  // namespace

Result<StagingFolder> StagingFolder::open(const fs::path& memory_root, const fs::path& run_folder) {
  const fs::path in_memory = staging_path_of(memory_root, run_folder);
  if (::mkdir(in_memory.c_str(), kStagingMode) != 0 && errno != EEXIST)
    return system_error(errno, "creating " + in_memory.string());
  if (auto checked = check_private(in_memory); !checked) return checked.error();
  return StagingFolder(in_memory);
}

Result<void> StagingFolder::discard(const fs::path& memory_root, const fs::path& run_folder) {
  const fs::path in_memory = staging_path_of(memory_root, run_folder);
  std::error_code code;
  // If other users can access the path, it was never our staging folder: do not touch it.
  if (!fs::exists(fs::symlink_status(in_memory, code)) || !check_private(in_memory)) return {};
  fs::remove_all(in_memory, code);
  return code ? system_error(code.value(), "removing " + in_memory.string()) : Result<void>();
}

StagingFolder::~StagingFolder() {
  std::error_code ignored;  // fails if it is not empty, or gone
  if (!path_.empty()) fs::remove(path_, ignored);
}

StagingFolder::StagingFolder(StagingFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

StagingFolder& StagingFolder::operator=(StagingFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

}  // namespace ratoon::local
