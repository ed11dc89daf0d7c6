// The protocol, step by step:
//   1. create a temporary file in the same folder, exclusively, so that nobody else writes it
//   2. write all bytes          3. fsync: data and size are on the disk; an error here is final for this file
//   4. close, and look at the result: some file systems report lost writes only now
//   5. rename (or link, when the name must be new): the moment at which readers see it
//   6. fsync the folder: the name is on the disk
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/core/atomic_fill.h"
#include "base/core/durable_folder.h"
#include "base/core/unique_fd.h"

namespace ratoon {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark = ".tmp-";
constexpr std::size_t kSaltDigits = 16;

fs::path temporary_name(const fs::path& path) {
  std::uint64_t salt = 0;
  if (::getrandom(&salt, sizeof salt, 0) != sizeof salt) salt = static_cast<std::uint64_t>(::getpid());
  std::array<char, kSaltDigits + 1> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(salt));
  std::string name(1, '.');
  name += path.filename().string();
  name += kMark;
  name += text.data();
  return path.parent_path() / name;
}

Result<void> write_all(int fd, std::span<const std::byte> bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error(errno, "writing " + path.string());
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> write_durably(const fs::path& temporary, const std::function<Result<void>(int)>& fill,
                           unsigned mode) {
  UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!fd.is_open()) return system_error(errno, "creating " + temporary.string());
  if (auto filled = fill(fd.get()); !filled) return filled;
  if (::fsync(fd.get()) != 0) return system_error(errno, "syncing " + temporary.string());
  if (auto closed = fd.close(); !closed) return closed.error().with_context(temporary.string());
  return {};
}

Result<void> publish(const fs::path& temporary, const fs::path& path, bool replaces) {
  if (replaces) {
    if (::rename(temporary.c_str(), path.c_str()) != 0)
      return system_error(errno, "renaming to " + path.string());
    return {};
  }
  if (::link(temporary.c_str(), path.c_str()) != 0) return system_error(errno, "creating " + path.string());
  ::unlink(temporary.c_str());
  return {};
}

}  // namespace

std::string_view name_behind_temporary(std::string_view file_name) {
  const std::size_t tail = kMark.size() + kSaltDigits;
  if (!file_name.starts_with('.') || file_name.size() < 2 + tail) return {};
  const std::string_view end = file_name.substr(file_name.size() - tail);
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (!end.starts_with(kMark) || !std::all_of(end.begin() + kMark.size(), end.end(), is_digit)) return {};
  return file_name.substr(1, file_name.size() - tail - 1);
}

Result<void> fill_file_atomically(const fs::path& path, const std::function<Result<void>(int)>& fill,
                                  AtomicFileOptions options) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const fs::path temporary = temporary_name(path);
  auto done = write_durably(temporary, fill, options.mode);
  if (done) done = publish(temporary, path, options.replaces);
  if (!done) {
    ::unlink(temporary.c_str());
    return done;
  }
  return sync_folder(folder);
}

Result<void> save_file_atomically(const fs::path& path, std::span<const std::byte> bytes,
                                  AtomicFileOptions options) {
  return fill_file_atomically(path, [&](int fd) { return write_all(fd, bytes, path); }, options);
}

Result<void> save_file_atomically(const fs::path& path, std::string_view text, AtomicFileOptions options) {
  return save_file_atomically(path, std::as_bytes(std::span(text)), options);
}

}  // namespace ratoon
