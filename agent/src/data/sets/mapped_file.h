// MappedFile: the bytes of an immutable file, which is mapped into memory. If a file is truncated while it is
// mapped, the process ends with SIGBUS, as with every mapping. Never rewrite or truncate a data file that
// programs use: write a new file and rename it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include <sys/stat.h>

#include <ratoon/result.h>

namespace ratoon::data {

// Returns the time of the file's last change, in nanoseconds since 1970.
[[nodiscard]] inline std::int64_t modified_nanoseconds(const struct stat& status) {
  return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

class MappedFile {
 public:
  // Opens regular files only: a file that may block, such as a pipe, is refused. The MappedFile is empty if
  // the file is empty.
  [[nodiscard]] static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  // Returns the time of the file's last change, in nanoseconds since 1970.
  [[nodiscard]] std::int64_t modified_nanoseconds() const { return modified_nanoseconds_; }
  // Tells the kernel that this part of the file will be read soon. Does not block.
  void prefetch(std::size_t offset, std::size_t size) const;

 private:
  MappedFile() = default;

  std::span<const std::byte> bytes_;
  std::int64_t modified_nanoseconds_ = 0;
};

}  // namespace ratoon::data
