#include "operator/local/staging_folder.h"

#include <cerrno>
#include <span>
#include <system_error>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "base/core/xxh3.h"

namespace ratoon::local {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kPrivate = 0700;

// Anybody may make files in /dev/shm, also under the name that will be ours.
Result<void> make_private(const fs::path& folder) {
  if (::mkdir(folder.c_str(), kPrivate) != 0 && errno != EEXIST)
    return system_error(errno, "creating " + folder.string());
  struct stat info{};
  if (::lstat(folder.c_str(), &info) != 0) return system_error(errno, "looking at " + folder.string());
  constexpr mode_t kOfOthers = 077;
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & kOfOthers) != 0) {
    return Error(ErrorKind::kPermissionDenied,
                 folder.string() + " is not a folder of this user alone: remove it");
  }
  return {};
}

}  // namespace

Result<StagingFolder> StagingFolder::open(const fs::path& memory_root, const fs::path& run_folder) {
  const std::string run = fs::absolute(run_folder).lexically_normal().string();
  const fs::path in_memory = memory_root / ("ratoon-run-" + to_hex(xxh3_128(std::as_bytes(std::span(run)))));
  if (auto made = make_private(in_memory); !made) return made.error();
  return StagingFolder(in_memory);
}

StagingFolder::~StagingFolder() {
  std::error_code ignored;  // it is not empty, or gone
  if (!path_.empty()) fs::remove(path_, ignored);
}

StagingFolder::StagingFolder(StagingFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

StagingFolder& StagingFolder::operator=(StagingFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

}  // namespace ratoon::local
