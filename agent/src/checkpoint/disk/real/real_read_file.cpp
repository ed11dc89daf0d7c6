#include "agent/src/checkpoint/disk/real/real_read_file.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/src/checkpoint/disk/real/page_cache.h"

namespace ratoon::checkpoint {
namespace {

// If the file cannot be read with O_DIRECT, ask the kernel to read ahead: several threads that read pieces in
// turn look like random access, for which the kernel does not read ahead.
constexpr std::uint64_t kReadAheadBytes = 8 << 20;

class RealReadFile : public ReadFile {
 public:
  RealReadFile(UniqueFd fd, std::string shown) : fd_(std::move(fd)), shown_(std::move(shown)) {}

  Result<std::uint64_t> size() const override {
    struct stat status{};
    if (::fstat(fd_.get(), &status) != 0) return system_error(errno, "reading the length of " + shown_);
    return static_cast<std::uint64_t>(status.st_size);
  }

  Result<void> read(std::uint64_t at, std::span<std::byte> bytes) const override {
    set_direct(false);
    while (!bytes.empty()) {
      const ssize_t got = ::pread(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return system_error(errno, "reading " + shown_);
      if (got == 0) return ends_at(at, bytes.size());
      at += static_cast<std::uint64_t>(got);
      bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
    return {};
  }

  bool read_from_page_cache(std::uint64_t at, std::span<std::byte> bytes) const override {
    const auto is_there = is_in_page_cache(fd_.get(), at, bytes.size());
    // If the kernel does not say whether bytes are cached, never read directly: bytes in the page cache are
    // read ten times as fast as bytes on a disk.
    if (!is_there) may_be_direct_ = false;
    if (!is_there || !*is_there) return false;
    set_direct(false);
    return read_cached_bytes(fd_.get(), at, bytes) == bytes.size();
  }

  Result<void> read_directly(std::uint64_t at, const ReadBuffer& room, std::uint64_t count) const override {
    std::uint64_t done = 0;
    set_direct(at % kDirectAlignment == 0);
    while (done < count && is_direct_) {
      const auto left = room.bytes().subspan(done);
      const std::uint64_t pages = (count - done + kDirectAlignment - 1) / kDirectAlignment;
      const ssize_t got =
          ::pread(fd_.get(), left.data(), pages * kDirectAlignment, static_cast<off_t>(at + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EINVAL) {  // the file system accepts the flag and refuses the read
        may_be_direct_ = false;
        break;
      }
      if (got < 0) return system_error(errno, "reading " + shown_);
      if (got == 0) return ends_at(at + done, count - done);
      done += static_cast<std::uint64_t>(got);
      if (done % kDirectAlignment != 0 && done < count) break;  // short: read() gets the rest or the error
    }
    if (done >= count) return {};
    start_read_ahead(at + count, kReadAheadBytes);
    return read(at + done, room.bytes().subspan(done, count - done));
  }

  void start_read_ahead(std::uint64_t at, std::uint64_t bytes) const override {
    static_cast<void>(
        ::posix_fadvise(fd_.get(), static_cast<off_t>(at), static_cast<off_t>(bytes), POSIX_FADV_WILLNEED));
  }

  void drop_from_page_cache() const override {
    static_cast<void>(::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_DONTNEED));
  }

 private:
  void set_direct(bool is_wanted) const {
    is_wanted = is_wanted && may_be_direct_;
    if (is_wanted == is_direct_) return;
    if (::fcntl(fd_.get(), F_SETFL, is_wanted ? O_DIRECT : 0) == 0)
      is_direct_ = is_wanted;
    else
      may_be_direct_ = false;
  }

  Error ends_at(std::uint64_t at, std::uint64_t missing) const {
    return {ErrorKind::kCorrupted, shown_ + " ends at byte " + std::to_string(at) + ", where " +
                                       std::to_string(missing) + " more bytes are expected"};
  }

  const UniqueFd fd_;
  const std::string shown_;
  // The following members need no lock, because only one thread at a time may use an open file.
  mutable bool is_direct_ = false;
  mutable bool may_be_direct_ = true;
};

}  // namespace

Result<std::unique_ptr<ReadFile>> make_read_file(UniqueFd fd, std::string shown) {
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return system_error(errno, "looking at " + shown);
  if (!S_ISREG(status.st_mode))
    return Error(ErrorKind::kInvalid,
                 shown + " is not a regular file; remove it: Ratoon creates only regular files here");
  return std::unique_ptr<ReadFile>(std::make_unique<RealReadFile>(std::move(fd), std::move(shown)));
}

}  // namespace ratoon::checkpoint
