#include "agent/src/data/sets/mapped_file.h"

#include <cerrno>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/core/read_file.h"

namespace ratoon::data {

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const std::string doing = "opening " + path.string();
  const UniqueFd fd = open_for_reading(path);
  if (!fd.is_open()) return system_error(errno, doing);
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return system_error(errno, doing);
  if (!S_ISREG(status.st_mode)) return Error(ErrorKind::kInvalid, doing + ": it is no regular file");
  MappedFile file;
  file.modified_nanoseconds_ = data::modified_nanoseconds(status);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return file;
  void* const begin = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (begin == MAP_FAILED) return system_error(errno, doing);
  file.bytes_ = {static_cast<const std::byte*>(begin), size};
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})), modified_nanoseconds_(other.modified_nanoseconds_) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(modified_nanoseconds_, other.modified_nanoseconds_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::prefetch(std::size_t offset, std::size_t size) const {
  static const auto kPageBytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t begin = offset / kPageBytes * kPageBytes;
  ::madvise(const_cast<std::byte*>(bytes_.data()) + begin, offset + size - begin, MADV_WILLNEED);
}

}  // namespace ratoon::data
