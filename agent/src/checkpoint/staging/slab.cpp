#include "agent/src/checkpoint/staging/slab.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ratoon::checkpoint {
namespace {

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kHugePageBytes = 2ULL << 20;       // the preferred size of pages
constexpr std::uint64_t kImageOffset = kSlotInfoBytesMax;  // the image begins on a page

// Rounds a small size up to a multiple of the page size, and a large size up to a multiple of the size of a
// huge page.
std::uint64_t rounded_up(std::uint64_t bytes) {
  const std::uint64_t to = bytes < kHugePageBytes ? kPageBytes : kHugePageBytes;
  return (bytes + to - 1) / to * to;
}

}  // namespace

Result<Slab> Slab::open(const std::filesystem::path& path, std::uint64_t home) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  if (!fd.is_open()) return system_error(errno, "opening staged memory at " + path.string());
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return system_error(errno, "looking at " + path.string());
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid() || status.st_nlink != 1)
    return Error(ErrorKind::kPermissionDenied,
                 path.string() + " must be a file of this user alone: choose another staging folder");
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK)
      return Error(ErrorKind::kConflict, path.string() + " is locked by another process");
    return system_error(errno, "locking " + path.string());
  }
  Slab slab;
  slab.path_ = path;
  slab.location_hash_ = home;
  slab.fd_ = FdClosedOnFork(std::move(fd));
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (bytes > kImageOffset) {
    if (auto mapped = slab.map(bytes); !mapped) return mapped.error();
  }
  return slab;
}

Slab::Slab(Slab&& other) noexcept {
  *this = std::move(other);
}

Slab& Slab::operator=(Slab&& other) noexcept {
  if (this == &other) return *this;
  unmap();
  path_ = std::exchange(other.path_, {});
  location_hash_ = other.location_hash_;
  fd_ = std::move(other.fd_);
  memory_ = std::exchange(other.memory_, nullptr);
  mapped_bytes_ = std::exchange(other.mapped_bytes_, 0);
  return *this;
}

Slab::~Slab() {
  unmap();
}

Result<void> Slab::grow(std::uint64_t image_bytes) {
  if (image_bytes <= image().size()) return {};
  unmap();
  const std::uint64_t bytes = rounded_up(kImageOffset + image_bytes);
  if (fd_.is_open()) {
    // Truncate the file to 0 bytes before enlarging it, so that a later process never mistakes old contents
    // for the new image.
    if (::ftruncate(fd_.get(), 0) != 0 || ::ftruncate(fd_.get(), static_cast<off_t>(bytes)) != 0 ||
        ::fallocate(fd_.get(), 0, 0, static_cast<off_t>(bytes)) != 0) {
      const int error = errno;
      static_cast<void>(::ftruncate(fd_.get(), 0));
      return system_error(error,
                          "allocating " + std::to_string(bytes) + " bytes of memory at " + path_.string());
    }
  }
  return map(bytes);
}

Result<void> Slab::map(std::uint64_t bytes) {
  const int kind = fd_.is_open() ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kind, fd_.get(), 0);
  if (at == MAP_FAILED)
    return system_error(errno, "mapping " + std::to_string(bytes) + " bytes of staged memory");
  memory_ = static_cast<std::byte*>(at);
  mapped_bytes_ = bytes;
  static_cast<void>(::madvise(at, bytes, MADV_DONTFORK));  // a forked child that maps it would keep the lock
  static_cast<void>(::madvise(at, bytes, MADV_HUGEPAGE));
  // A kernel that does not support MADV_POPULATE_WRITE allocates each page later, when data is copied to it.
  if (::madvise(at, bytes, MADV_POPULATE_WRITE) != 0 && errno != EINVAL) {
    const int error = errno;
    unmap();
    return system_error(error, "allocating " + std::to_string(bytes) + " bytes of staged memory");
  }
  return {};
}

void Slab::unmap() {
  if (memory_ != nullptr) ::munmap(memory_, mapped_bytes_);
  memory_ = nullptr;
  mapped_bytes_ = 0;
}

std::span<std::byte> Slab::image() const {
  return memory_ == nullptr ? std::span<std::byte>()
                            : std::span(memory_, mapped_bytes_).subspan(kImageOffset);
}

std::optional<SlotInfo> Slab::read_info() const {
  if (memory_ == nullptr) return std::nullopt;
  return decode_slot_info(std::span(memory_, kImageOffset), location_hash_);
}

void Slab::write_info(const SlotInfo& info) {
  if (memory_ == nullptr || !fd_.is_open()) return;
  // Do not reorder the writes below: if the process is killed, the file has all writes that the process has
  // made so far, in their order.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::string bytes = encode_slot_info(info, location_hash_);
  if (bytes.size() > kSlotInfoBytesMax) bytes = encode_slot_info({}, location_hash_);
  std::memcpy(memory_, bytes.data(), bytes.size());
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

void Slab::discard() {
  unmap();
  if (fd_.is_open()) static_cast<void>(::unlink(path_.c_str()));
  fd_ = FdClosedOnFork();
  path_.clear();
}

}  // namespace ratoon::checkpoint
