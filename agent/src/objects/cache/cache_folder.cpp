#include "agent/src/objects/cache/cache_folder.h"

#include <array>
#include <cerrno>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agent/src/objects/cache/cache_name.h"
#include "agent/src/objects/cache/cache_usage.h"
#include "base/core/durable_folder.h"

namespace ratoon::objects {
namespace {

constexpr const char* kLockName = ".ratoon-cache-lock";

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Names of cache files contain no '/', so O_NOFOLLOW makes sure that no part of the path is a link.
Result<UniqueFd> open_beneath(int folder, const std::string& name, int flags, const std::string& shown) {
  UniqueFd fd(::openat(folder, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0644));
  if (fd.is_open() || errno == ENOENT) return fd;
  if (errno == ELOOP) {
    return Error(ErrorKind::kInvalid, shown + " is a link, and the cache does not follow links: remove it");
  }
  return system_error(errno, "opening " + shown);
}

// Lets all users who may change the folder use our file in it.
void copy_folder_permissions(int folder, int file) {
  struct stat of_folder{};
  struct stat of_file{};
  if (::fstat(folder, &of_folder) != 0 || ::fstat(file, &of_file) != 0) return;
  const mode_t mode = 0600 | (of_folder.st_mode & 0066);
  // fchmod() fails if another user owns the file. Then the owner has set the mode.
  if ((of_file.st_mode & 0777) != mode) static_cast<void>(::fchmod(file, mode));
}

struct DirectoryCloser {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

}  // namespace

Result<CacheFolder> CacheFolder::open(std::filesystem::path folder) {
  if (auto made = create_folders(folder); !made) return made.error().with_context("opening the cache");
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open()) return system_error(errno, "opening the cache " + folder.string());
  return CacheFolder(std::move(folder), std::move(fd));
}

bool CacheFolder::is_name_current(int fd, const std::string& name) const {
  struct stat ours{};
  struct stat named{};
  return ::fstat(fd, &ours) == 0 && ::fstatat(fd_.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

Result<CacheFolder::OpenResult> CacheFolder::lock_opened(UniqueFd fd, const std::string& name,
                                                         int operation) const {
  if (!fd.is_open()) return OpenResult{};
  struct stat facts{};
  if (::fstat(fd.get(), &facts) != 0) return system_error(errno, "looking at " + shown(name));
  if (!S_ISREG(facts.st_mode)) return Error(ErrorKind::kInvalid, shown(name) + " is not a file: remove it");
  if (::flock(fd.get(), operation | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK || errno == EINTR) return OpenResult{.outcome = OpenOutcome::kBusy};
    return system_error(errno, "locking " + shown(name));
  }
  if (!is_name_current(fd.get(), name))
    return OpenResult{.outcome = OpenOutcome::kBusy};  // just replaced; the caller retries
  if (::fstat(fd.get(), &facts) != 0) return system_error(errno, "looking at " + shown(name));
  return OpenResult{OpenOutcome::kOpen, std::move(fd), static_cast<std::uint64_t>(facts.st_size)};
}

Result<CacheFolder::OpenResult> CacheFolder::open_object(const std::string& name) const {
  auto fd = open_beneath(fd_.get(), name, O_RDONLY, shown(name));
  if (!fd) return fd.error();
  auto opened = lock_opened(std::move(*fd), name, LOCK_SH);
  if (opened && opened->outcome == OpenOutcome::kOpen) {
    // The cache sets the access time of a file itself, because many file systems are mounted with an option
    // that disables updates of access times. Setting the access time fails for a file of another user. For
    // such a file, the time of its last write counts as its last use.
    const std::array<timespec, 2> times{{{0, UTIME_NOW}, {0, UTIME_OMIT}}};
    static_cast<void>(::futimens(opened->fd.get(), times.data()));
  }
  return opened;
}

Result<CacheFolder::OpenResult> CacheFolder::open_part(const std::string& name) const {
  auto fd = open_beneath(fd_.get(), name, O_RDWR | O_CREAT, shown(name));
  if (!fd) return fd.error();
  if (!fd->is_open()) return Error(ErrorKind::kNotFound, "the cache " + path_.string() + " was removed");
  return lock_opened(std::move(*fd), name, LOCK_EX);
}

Result<CacheFolder::OpenResult> CacheFolder::try_lock() const {
  auto lock = open_part(kLockName);
  // It belongs to a user who does not share it. Without the lock, the cache may exceed its limit.
  if (!lock && lock.error().kind() == ErrorKind::kPermissionDenied)
    return OpenResult{.outcome = OpenOutcome::kOpen};
  if (lock && lock->fd.is_open()) copy_folder_permissions(fd_.get(), lock->fd.get());
  return lock;
}

Result<CacheFolder::Contents> CacheFolder::scan(const std::string& own_part) const {
  // Opens the folder again for listing, because listing moves the read position of the descriptor.
  UniqueFd fd(::openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open()) return system_error(errno, "opening the cache " + path_.string());
  const std::unique_ptr<DIR, DirectoryCloser> folder(::fdopendir(fd.get()));
  if (!folder) return system_error(errno, "listing the cache " + path_.string());
  static_cast<void>(fd.release());

  Contents contents;
  for (errno = 0; const dirent* entry = ::readdir(folder.get()); errno = 0) {
    const std::string name = entry->d_name;
    const auto kind = parse_cache_name(name);
    struct stat facts{};
    if (!kind || name == own_part) continue;
    if (::fstatat(fd_.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(facts.st_mode))
      continue;
    const auto size = static_cast<std::uint64_t>(facts.st_size);
    if (kind == CacheNameKind::kPart) {
      const auto is_gone = try_evict(name);
      if (!is_gone || !*is_gone) contents.used_bytes += size;
      continue;
    }
    contents.used_bytes += size;
    contents.objects.push_back(
        {.name = name, .size_bytes = size, .last_use_nanoseconds = nanoseconds(facts.st_atim)});
  }
  if (errno != 0) return system_error(errno, "listing the cache " + path_.string());
  return contents;
}

Result<bool> CacheFolder::try_evict(const std::string& name) const {
  // Opens the file for writing, because NFS grants an exclusive lock only on a file that is open for writing.
  // A file that belongs to another user is not removed.
  auto fd = open_beneath(fd_.get(), name, O_RDWR, shown(name));
  if (!fd && fd.error().kind() == ErrorKind::kPermissionDenied) return false;
  if (!fd) return fd.error();
  const auto opened = lock_opened(std::move(*fd), name, LOCK_EX);
  if (!opened) return opened.error();
  if (opened->outcome != OpenOutcome::kOpen) return false;
  if (auto removed = remove(name); !removed) return removed.error();
  return true;
}

Result<void> CacheFolder::remove(const std::string& name) const {
  if (::unlinkat(fd_.get(), name.c_str(), 0) != 0 && errno != ENOENT) {
    return system_error(errno, "removing " + shown(name));
  }
  return {};
}

Result<void> CacheFolder::publish(const std::string& part, const std::string& name) const {
  if (::renameat(fd_.get(), part.c_str(), fd_.get(), name.c_str()) != 0) {
    return system_error(errno, "renaming " + shown(part) + " to " + name);
  }
  if (::fsync(fd_.get()) != 0) return system_error(errno, "syncing the cache " + path_.string());
  return {};
}

std::optional<std::int64_t> CacheFolder::last_write(const std::string& name) const {
  struct stat facts{};
  if (::fstatat(fd_.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return nanoseconds(facts.st_mtim);
}

std::optional<std::int64_t> CacheFolder::last_use(const std::string& name) const {
  struct stat facts{};
  if (::fstatat(fd_.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return nanoseconds(facts.st_atim);
}

void CacheFolder::discard_usage_record() const {
  const auto lock = open_beneath(fd_.get(), kLockName, O_RDWR, shown(kLockName));
  if (lock && lock->is_open()) remove_usage_record(lock->get());
}

std::uint64_t CacheFolder::free_bytes() const {
  struct statvfs facts{};
  if (::fstatvfs(fd_.get(), &facts) != 0 || facts.f_blocks == 0) return ~std::uint64_t{0};
  return std::uint64_t{facts.f_bavail} * facts.f_frsize;
}

}  // namespace ratoon::objects
