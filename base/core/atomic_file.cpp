#include "base/core/atomic_fill.h"
#include "base/core/unfinished_file.h"

namespace ratoon {

namespace fs = std::filesystem;

Result<void> fill_file_atomically(const fs::path& path, const std::function<Result<void>(int)>& fill,
                                  AtomicFileOptions options) {
  auto file = UnfinishedFile::create(path, options);
  if (!file) return file.error();
  if (auto filled = fill(file->fd()); !filled) return filled;
  return file->publish();
}

Result<void> save_file_atomically(const fs::path& path, std::span<const std::byte> bytes,
                                  AtomicFileOptions options) {
  return save_file_atomically(path, [&](const AppendBytes& append) { return append(bytes); }, options);
}

Result<void> save_file_atomically(const fs::path& path, std::string_view text, AtomicFileOptions options) {
  return save_file_atomically(path, std::as_bytes(std::span(text)), options);
}

Result<void> save_file_atomically(const fs::path& path, const WriteFileBody& write,
                                  AtomicFileOptions options) {
  auto file = UnfinishedFile::create(path, options);
  if (!file) return file.error();
  const AppendBytes append = [&](std::span<const std::byte> bytes) { return file->write(bytes); };
  if (auto written = write(append); !written) return written;
  return file->publish();
}

}  // namespace ratoon
