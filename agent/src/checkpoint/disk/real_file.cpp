#include "agent/src/checkpoint/disk/real_file.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ratoon::checkpoint {
namespace {

class RealWriteFile : public WriteFile {
 public:
  RealWriteFile(UniqueFd fd, std::string shown) : fd_(std::move(fd)), shown_(std::move(shown)) {}

  Result<void> reserve(std::uint64_t bytes) override {
    if (bytes == 0 || ::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) == 0)
      return {};
    if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
      return system_error(errno, "reserving " + std::to_string(bytes) + " bytes for " + shown_);
    return {};
  }

  Result<void> write(std::uint64_t at, std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t written = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return system_error(errno, "writing " + shown_);
      if (written == 0)
        return Error(ErrorKind::kIo, "writing " + shown_ + ": the system takes no more bytes");
      at += static_cast<std::uint64_t>(written);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return {};
  }

  Result<void> sync() override {
    if (::fsync(fd_.get()) != 0) return system_error(errno, "syncing " + shown_);
    return {};
  }

  Result<void> close() override {
    if (auto closed = fd_.close(); !closed) return closed.error().with_context(shown_);
    return {};
  }

 private:
  UniqueFd fd_;
  const std::string shown_;
};

class RealReadFile : public ReadFile {
 public:
  RealReadFile(UniqueFd fd, std::string shown) : fd_(std::move(fd)), shown_(std::move(shown)) {}

  Result<std::uint64_t> size() const override {
    struct stat status{};
    if (::fstat(fd_.get(), &status) != 0) return system_error(errno, "reading the length of " + shown_);
    return static_cast<std::uint64_t>(status.st_size);
  }

  Result<void> read(std::uint64_t at, std::span<std::byte> bytes) const override {
    while (!bytes.empty()) {
      const ssize_t got = ::pread(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return system_error(errno, "reading " + shown_);
      if (got == 0) {
        return Error(ErrorKind::kCorrupted, shown_ + " ends at byte " + std::to_string(at) + ", where " +
                                                std::to_string(bytes.size()) + " more are expected");
      }
      at += static_cast<std::uint64_t>(got);
      bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
    return {};
  }

  void forget() const override { static_cast<void>(::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_DONTNEED)); }

 private:
  const UniqueFd fd_;
  const std::string shown_;
};

}  // namespace

std::unique_ptr<WriteFile> make_write_file(UniqueFd fd, std::string shown) {
  return std::make_unique<RealWriteFile>(std::move(fd), std::move(shown));
}

Result<std::unique_ptr<ReadFile>> make_read_file(UniqueFd fd, std::string shown) {
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return system_error(errno, "looking at " + shown);
  if (!S_ISREG(status.st_mode))
    return Error(ErrorKind::kInvalid, shown + " is no file; remove it: nothing of ours makes such a thing");
  return std::unique_ptr<ReadFile>(std::make_unique<RealReadFile>(std::move(fd), std::move(shown)));
}

}  // namespace ratoon::checkpoint
