#include "base/core/temporary_file.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/atomic_fill.h"
#include "base/core/random_name.h"

namespace ratoon {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporaryNameMark = ".tmp-";
constexpr std::size_t kRandomNameDigits = 16;

fs::path temporary_name(const fs::path& path) {
  std::string name(1, '.');
  name += path.filename().string();
  name += kTemporaryNameMark;
  name += random_hex_name();
  return path.parent_path() / name;
}

// Locks the temporary file. Returns false if another process removed the file before this call locked it. If
// the file system has no locks, returns true, because no process removes temporary files there.
bool lock_temporary_file(int fd) {
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  struct stat facts{};
  return ::fstat(fd, &facts) == 0 && facts.st_nlink > 0;
}

// Removes the temporary file if no living process holds its lock, and keeps the lock until the name is
// removed. A writer may have created the file but not locked it yet. This writer then finds that the lock is
// taken or that the file has no name, and creates another file.
void unlink_if_abandoned(const fs::path& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (fd.is_open() && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(file.c_str());
}

}  // namespace

std::string_view target_name_of_temporary(std::string_view file_name) {
  const std::size_t tail = kTemporaryNameMark.size() + kRandomNameDigits;
  if (!file_name.starts_with('.') || file_name.size() < 2 + tail) return {};
  const std::string_view end = file_name.substr(file_name.size() - tail);
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (!end.starts_with(kTemporaryNameMark) ||
      !std::all_of(end.begin() + kTemporaryNameMark.size(), end.end(), is_digit))
    return {};
  return file_name.substr(1, file_name.size() - tail - 1);
}

Result<TemporaryFile> create_temporary_file(const fs::path& path, unsigned mode) {
  while (true) {
    TemporaryFile file{.path = temporary_name(path), .fd = {}, .lock = {}};
    file.fd.reset(::open(file.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (!file.fd.is_open()) return system_error(errno, "creating " + file.path.string());
    file.lock.reset(::fcntl(file.fd.get(), F_DUPFD_CLOEXEC, 0));
    if (lock_temporary_file(file.fd.get())) return file;
    ::unlink(file.path.c_str());
  }
}

void sweep_temporary_files(const fs::path& path) {
  std::error_code code;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const std::string name = path.filename().string();
  for (fs::directory_iterator at(folder, code), end; !code && at != end; at.increment(code)) {
    if (target_name_of_temporary(at->path().filename().string()) == name) unlink_if_abandoned(at->path());
  }
}

}  // namespace ratoon
