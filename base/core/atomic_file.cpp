// The protocol, step by step:
//   1. create a temporary file in the same folder, exclusively, so that nobody else writes it
//   2. write all bytes          3. fsync: data and size are on the disk; an error here is final for this file
//   4. close, and look at the result: some file systems report lost writes only now
//   5. rename (or link, when the name must be new): the moment at which readers see it
//   6. fsync the folder: the name is on the disk
#include <cerrno>
#include <cstdio>

#include <unistd.h>

#include "base/core/atomic_fill.h"
#include "base/core/durable_folder.h"
#include "base/core/temporary_file.h"

namespace ratoon {
namespace {

namespace fs = std::filesystem;

Result<void> write_all(int fd, std::span<const std::byte> bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error(errno, "writing " + path.string());
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> write_durably(TemporaryFile& temporary, const std::function<Result<void>(int)>& fill) {
  if (auto filled = fill(temporary.fd.get()); !filled) return filled;
  if (::fsync(temporary.fd.get()) != 0) return system_error(errno, "syncing " + temporary.path.string());
  if (auto closed = temporary.fd.close(); !closed)
    return closed.error().with_context(temporary.path.string());
  return {};
}

Result<void> publish(const fs::path& temporary, const fs::path& path, bool replaces) {
  if (replaces) {
    if (::rename(temporary.c_str(), path.c_str()) != 0)
      return system_error(errno, "renaming to " + path.string());
    return {};
  }
  if (::link(temporary.c_str(), path.c_str()) != 0) return system_error(errno, "creating " + path.string());
  return {};
}

// Also where the caller's code throws, nothing is left of what was not published.
class RemovedAtEnd {
 public:
  explicit RemovedAtEnd(const fs::path& path) : path_(path) {}
  ~RemovedAtEnd() { ::unlink(path_.c_str()); }  // after a rename there is none
  RemovedAtEnd(const RemovedAtEnd&) = delete;
  RemovedAtEnd& operator=(const RemovedAtEnd&) = delete;

 private:
  const fs::path& path_;
};

}  // namespace

Result<void> fill_file_atomically(const fs::path& path, const std::function<Result<void>(int)>& fill,
                                  AtomicFileOptions options) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  auto temporary = create_temporary_file(path, options.mode);
  if (!temporary) return temporary.error();
  {
    const RemovedAtEnd removed(temporary->path);
    if (auto done = write_durably(*temporary, fill); !done) return done;
    if (auto done = publish(temporary->path, path, options.replaces); !done) return done;
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

Result<void> save_file_atomically(const fs::path& path, const WriteFileBody& write,
                                  AtomicFileOptions options) {
  const auto fill = [&](int fd) {
    return write([&](std::span<const std::byte> bytes) { return write_all(fd, bytes, path); });
  };
  return fill_file_atomically(path, fill, options);
}

}  // namespace ratoon
