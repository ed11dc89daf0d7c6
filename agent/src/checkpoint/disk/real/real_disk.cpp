#include "agent/src/checkpoint/disk/real/real_disk.h"

#include <algorithm>
#include <cerrno>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/src/checkpoint/disk/real/real_read_file.h"
#include "agent/src/checkpoint/disk/real/real_write_file.h"
#include "base/core/durable_folder.h"

namespace ratoon::checkpoint {

namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// Syncs the names of the parent folders, because the process that created the folders may have died before it
// synced their names. If this process has no permission to open a parent folder, it did not create a folder
// there, so the parent needs no sync.
Result<void> sync_folders_above(const std::filesystem::path& folder) {
  for (std::filesystem::path at = folder; at.has_relative_path(); at = at.parent_path()) {
    const auto synced = sync_folder(at.has_parent_path() ? at.parent_path() : std::filesystem::path("."));
    if (!synced && synced.error().kind() != ErrorKind::kPermissionDenied) return synced;
  }
  return {};
}

bool is_folder(int fd, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_DIR;
  struct stat status{};
  return ::fstatat(fd, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

struct RealDisk::FolderAndName {
  UniqueFd folder;
  std::string name;
};

Result<std::unique_ptr<RealDisk>> RealDisk::open_folder(const std::filesystem::path& folder) {
  if (auto made = create_folders(folder); !made) return made.error();
  if (auto synced = sync_folders_above(folder); !synced) return synced.error();
  return open_existing_folder(folder);
}

Result<std::unique_ptr<RealDisk>> RealDisk::open_existing_folder(const std::filesystem::path& folder) {
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open()) return system_error(errno, "opening folder " + folder.string());
  UniqueFd for_trial(::openat(fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!for_trial.is_open()) return system_error(errno, "opening folder " + folder.string());
  return std::unique_ptr<RealDisk>(new RealDisk(folder, std::move(fd), std::move(for_trial)));
}

std::string RealDisk::shown(std::string_view path) const {
  return path.empty() ? folder_.string() : (folder_ / path).string();
}

Error RealDisk::error(const std::string& doing, std::string_view path) const {
  const int number = errno;
  if (number == ELOOP || number == ENOTDIR) {
    return {ErrorKind::kInvalid,
            doing + " " + shown(path) +
                ": a link or a file is in the way; links in a run's folder are not followed: "
                "remove it, or link the whole folder"};
  }
  return system_error(number, doing + " " + shown(path));
}

Result<UniqueFd> RealDisk::open_folder_at(const std::string& path) const {
  if (path.empty()) {
    UniqueFd own(::openat(fd_.get(), ".", kFolderFlags));
    if (!own.is_open()) return error("opening folder", path);
    return own;
  }
  if (auto checked = check_path(path); !checked) return checked.error();
  UniqueFd at;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const int above = at.is_open() ? at.get() : fd_.get();
    UniqueFd next(::openat(above, path.substr(begin, end - begin).c_str(), kFolderFlags));
    if (!next.is_open()) return error("opening folder", std::string_view(path).substr(0, end));
    at = std::move(next);
    begin = end + 1;
  }
  return at;
}

Result<RealDisk::FolderAndName> RealDisk::find(const std::string& path) const {
  if (auto checked = check_path(path); !checked) return checked.error();
  const std::string above = folder_of(path);
  auto folder = open_folder_at(above);
  if (!folder) return folder.error();
  return FolderAndName{.folder = *std::move(folder),
                       .name = above.empty() ? path : path.substr(above.size() + 1)};
}

Result<std::unique_ptr<WriteFile>> RealDisk::create(const std::string& path) {
  const auto place = find(path);
  if (!place) return place.error();
  UniqueFd fd(::openat(place->folder.get(), place->name.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!fd.is_open()) return error("creating", path);
  return make_write_file(std::move(fd), shown(path), direct_writes_);
}

Result<std::unique_ptr<ReadFile>> RealDisk::open(const std::string& path) const {
  const auto place = find(path);
  if (!place) return place.error();
  // Without the flag O_NONBLOCK, opening a named pipe would wait until another process opens it for writing.
  UniqueFd fd(
      ::openat(place->folder.get(), place->name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.is_open()) return error("opening", path);
  return make_read_file(std::move(fd), shown(path));
}

Result<void> RealDisk::rename_no_replace(const std::string& from, const std::string& to) {
  const auto source = find(from);
  if (!source) return source.error();
  const auto target = find(to);
  if (!target) return target.error();
  const int old_folder = source->folder.get();
  const int new_folder = target->folder.get();
  const char* const old_name = source->name.c_str();
  const char* const new_name = target->name.c_str();
  if (::renameat2(old_folder, old_name, new_folder, new_name, RENAME_NOREPLACE) == 0) return {};
  // Some network file systems do not support RENAME_NOREPLACE. For files, linkat() does the same: it creates
  // the new name atomically and replaces no file.
  if (errno != EINVAL && errno != ENOSYS) return error("renaming to", to);
  if (::linkat(old_folder, old_name, new_folder, new_name, 0) != 0) return error("creating", to);
  if (::unlinkat(old_folder, old_name, 0) != 0) return error("removing", from);
  return {};
}

Result<void> RealDisk::remove(const std::string& path) {
  const auto place = find(path);
  if (!place) return place.error();
  if (::unlinkat(place->folder.get(), place->name.c_str(), 0) != 0) return error("removing", path);
  return {};
}

Result<void> RealDisk::remove_folder(const std::string& path) {
  const auto place = find(path);
  if (!place) return place.error();
  if (::unlinkat(place->folder.get(), place->name.c_str(), AT_REMOVEDIR) != 0)
    return error("removing folder", path);
  return {};
}

Result<void> RealDisk::make_folder(const std::string& path) {
  const auto place = find(path);
  if (!place) return place.error();
  if (::mkdirat(place->folder.get(), place->name.c_str(), 0777) != 0) return error("creating folder", path);
  return {};
}

Result<void> RealDisk::sync_folder(const std::string& path) {
  const auto fd = open_folder_at(path);
  if (!fd) return fd.error();
  return sync_open_folder(fd->get(), shown(path));
}

Result<std::vector<DiskEntry>> RealDisk::list(const std::string& path) const {
  auto fd = open_folder_at(path);
  if (!fd) return fd.error();
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::fdopendir(fd->get()), ::closedir);
  if (!folder) return error("listing", path);
  static_cast<void>(fd->release());  // the stream owns it now
  std::vector<DiskEntry> entries;
  while (true) {
    errno = 0;
    const dirent* const entry = ::readdir(folder.get());
    if (entry == nullptr && errno != 0) return error("listing", path);
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    entries.push_back({.name = std::string(name), .is_folder = is_folder(::dirfd(folder.get()), *entry)});
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

}  // namespace ratoon::checkpoint
