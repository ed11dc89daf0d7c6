// The protocol of save_file_atomically(), step by step:
//   1. create a temporary file in the same folder, exclusively, so that no other process writes it
//   2. write all bytes          3. fsync: data and size are on the disk; an error here is final for this file
//   4. close, and look at the result: some file systems report lost writes only now
//   5. rename (or link, when the name must be new): the moment at which readers see it
//   6. fsync the folder: the name is on the disk
#include "base/core/unfinished_file.h"

#include <cerrno>
#include <cstdio>

#include <unistd.h>

#include "base/core/durable_folder.h"

namespace ratoon {

namespace fs = std::filesystem;

Result<UnfinishedFile> UnfinishedFile::create(const fs::path& path, const AtomicFileOptions& options) {
  auto temporary = create_temporary_file(path, options.mode);
  if (!temporary) return temporary.error();
  return UnfinishedFile(*std::move(temporary), path, options.replaces);
}

UnfinishedFile::~UnfinishedFile() {
  if (!temporary_.path.empty()) ::unlink(temporary_.path.c_str());
}

Result<void> UnfinishedFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error(errno, "writing " + path_.string());
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> UnfinishedFile::publish() {
  if (::fsync(fd()) != 0) return system_error(errno, "syncing " + temporary_.path.string());
  if (auto closed = temporary_.fd.close(); !closed)
    return closed.error().with_context(temporary_.path.string());
  if (auto named = rename_to_target(); !named) return named;
  return sync_folder(path_.has_parent_path() ? path_.parent_path() : fs::path("."));
}

Result<void> UnfinishedFile::rename_to_target() {
  const fs::path temporary = temporary_.path;
  if (replaces_) {
    if (::rename(temporary.c_str(), path_.c_str()) != 0)
      return system_error(errno, "renaming to " + path_.string());
  } else {
    if (::link(temporary.c_str(), path_.c_str()) != 0)
      return system_error(errno, "creating " + path_.string());
    ::unlink(temporary.c_str());
  }
  temporary_.path.clear();
  return {};
}

}  // namespace ratoon
