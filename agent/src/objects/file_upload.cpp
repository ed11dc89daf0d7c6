#include "agent/src/objects/file_upload.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <set>
#include <span>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/src/objects/folder_walk.h"
#include "agent/src/objects/sources.h"
#include "base/core/atomic_fill.h"
#include "base/core/crc32c.h"
#include "base/core/durable_folder.h"
#include "base/core/temporary_file.h"

namespace ratoon::objects {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kUploadPieceBytes = 1024 * 1024;
constexpr unsigned kPrivateFileMode = 0600;
// write_into_folder() makes at most kCreateFolderTriesMax attempts to create a folder and write a file into
// it. Many attempts are unlikely, because an attempt is repeated only if another process has removed the last
// object of the folder, and the folder with it.
constexpr int kCreateFolderTriesMax = 1000;

Error upload_cancelled_error(const std::string& what) {
  return {ErrorKind::kCancelled, what + " was cancelled"};
}

// Reserves the space for the file, so that a full disk is detected before the first byte is written. If the
// file system does not support fallocate(), a full disk is detected only by a later write.
Result<void> reserve_disk_space(int fd, std::uint64_t size, const std::string& uri) {
  if (size == 0 || ::fallocate(fd, 0, 0, static_cast<off_t>(size)) == 0) return {};
  if (errno != ENOSPC && errno != EDQUOT && errno != EFBIG) return {};
  return system_error(errno, "making room for the " + std::to_string(size) + " bytes of " + uri);
}

Result<void> write_piece(int fd, std::string_view piece, std::uint64_t at, const std::string& uri) {
  while (!piece.empty()) {
    const ssize_t written = ::pwrite(fd, piece.data(), piece.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error(errno, "writing " + uri);
    at += static_cast<std::uint64_t>(written);
    piece.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

// Copies all of the source to the file and returns its CRC32C.
Result<std::uint32_t> copy_source(ObjectSource& source, int fd, const UploadOptions& options,
                                  const std::string& uri) {
  const std::uint64_t size = source.size_bytes();
  if (auto reserved = reserve_disk_space(fd, size, uri); !reserved) return reserved.error();
  std::string piece(std::min<std::uint64_t>(kUploadPieceBytes, size), '\0');
  std::uint32_t crc = 0;
  for (std::uint64_t at = 0; at < size; at += piece.size()) {
    if (options.stop.stop_requested()) return upload_cancelled_error("writing " + uri);
    piece.resize(std::min<std::uint64_t>(kUploadPieceBytes, size - at));
    if (auto read = source.read(at, piece); !read) return read.error().with_context("writing " + uri);
    crc = crc32c(std::as_bytes(std::span(piece)), crc);
    if (auto written = write_piece(fd, piece, at, uri); !written) return written.error();
    if (options.progress) options.progress(at + piece.size());
  }
  if (auto checked = check_source_crc32c(options.crc32c, crc, uri); !checked) return checked.error();
  return crc;
}

Duration since_epoch(const timespec& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// Reads the clock that stamps the files in `folder`, because a file server has its own clock. To read it,
// file_system_time() creates a file with a temporary name, which remove_temporary_files() removes if the
// process dies. Returns nothing if no file can be created in the folder, because then no file can be removed
// there either.
std::optional<Duration> file_system_time(const fs::path& folder) {
  const auto file = create_temporary_file(folder / "time", kPrivateFileMode);
  if (!file) return std::nullopt;
  struct stat facts{};
  const bool is_known = ::fstat(file->fd.get(), &facts) == 0;
  ::unlink(file->path.c_str());
  return is_known ? std::optional(since_epoch(facts.st_mtim)) : std::nullopt;
}

bool is_older(const fs::path& path, Duration age, Duration now) {
  struct stat facts{};
  return ::lstat(path.c_str(), &facts) == 0 && now - since_epoch(facts.st_mtim) >= age;
}

}  // namespace

// Folders are synced after `write`, because a sync is slow and other processes may remove a folder while it
// is empty. After `write` the folder has a file.
Result<void> write_into_folder(const fs::path& path, const std::function<Result<void>()>& write) {
  const fs::path folder = path.parent_path();
  std::set<fs::path> unsynced;  // parents of created folders, the highest first
  const auto create_and_write = [&]() -> Result<void> {
    const auto parents = make_folders(folder);
    if (!parents) return parents.error();
    unsynced.insert(parents->begin(), parents->end());
    return write();
  };
  Result<void> written = create_and_write();
  for (int i = 1; !written; ++i) {
    std::error_code code;
    const bool has_vanished = written.error().kind() == ErrorKind::kNotFound && !fs::exists(folder, code);
    if (!has_vanished || i == kCreateFolderTriesMax) return written;
    written = create_and_write();
  }
  for (const fs::path& parent : unsynced) {
    // A missing parent is not an error: other processes have removed all objects in it, and then the folder.
    auto synced = sync_folder(parent);
    if (!synced && synced.error().kind() != ErrorKind::kNotFound) return synced;
  }
  return {};
}

Result<UploadedObject> upload_file(const fs::path& path, ObjectSource& source, const UploadOptions& options,
                                   const std::string& uri) {
  UploadedObject uploaded{.size_bytes = source.size_bytes()};
  const auto fill = [&](int fd) -> Result<void> {
    const auto crc = copy_source(source, fd, options, uri);
    if (!crc) return crc.error();
    uploaded.crc32c = *crc;
    return {};
  };
  const auto written = write_into_folder(
      path, [&] { return fill_file_atomically(path, fill, {.replaces = options.replaces}); });
  if (!written) return written.error();
  return uploaded;
}

Result<std::uint64_t> remove_temporary_files(const fs::path& folder, std::string_view prefix,
                                             Duration older_than, const std::string& uri,
                                             const std::stop_token& stop) {
  const std::size_t slash = prefix.rfind('/');
  const fs::path top = slash == std::string_view::npos ? folder : folder / prefix.substr(0, slash);
  std::uint64_t count = 0;
  std::optional<Duration> now;  // read for the first file that may be removed
  const auto remove = [&](const fs::directory_entry& entry) -> Result<void> {
    if (stop.stop_requested()) return upload_cancelled_error("removing stale uploads from " + uri);
    const fs::path& path = entry.path();
    const std::string name = path.filename().string();
    const std::string_view meant = target_name_of_temporary(name);
    std::error_code vanished;
    if (meant.empty() || entry.symlink_status(vanished).type() != fs::file_type::regular) return {};
    const std::string key = (path.parent_path() / meant).lexically_relative(folder).generic_string();
    if (!key.starts_with(prefix)) return {};
    if (!now) now = file_system_time(path.parent_path());
    if (!now || !is_older(path, older_than, *now)) return {};
    if (::unlink(path.c_str()) == 0)
      ++count;
    else if (errno != ENOENT)
      return system_error(errno, "removing " + path.string());
    return {};
  };
  // Links to folders are not followed, because other programs may use the folders.
  if (auto walked = walk_folder(top, LinkHandling::kLeftAlone, "removing stale uploads from " + uri, remove);
      !walked)
    return walked.error();
  return count;
}

}  // namespace ratoon::objects
