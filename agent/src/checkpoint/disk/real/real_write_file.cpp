#include "agent/src/checkpoint/disk/real/real_write_file.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>

namespace ratoon::checkpoint {
namespace {

bool is_aligned(std::uint64_t number) {
  return number % kDirectAlignment == 0;
}

class RealWriteFile : public WriteFile {
 public:
  RealWriteFile(UniqueFd fd, std::string shown, std::shared_ptr<DirectWrites> direct,
                const WriteSyscalls& calls)
      : fd_(std::move(fd)), shown_(std::move(shown)), direct_writes_(std::move(direct)), calls_(calls) {}

  Result<void> reserve(std::uint64_t bytes) override {
    may_be_direct_ = bytes >= kDirectFileBytesMin && direct_writes_->are_worthwhile();
    if (bytes == 0 || ::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) == 0)
      return {};
    if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
      return system_error(errno, "reserving " + std::to_string(bytes) + " bytes for " + shown_);
    return {};
  }

  Result<void> write(std::uint64_t at, std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const std::size_t size = begin_write(at, bytes);
      const ssize_t written = calls_.write(fd_.get(), bytes.data(), size, static_cast<off_t>(at));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0 && is_direct_ && errno == EINVAL) {
        refuse_direct();
        continue;
      }
      if (written < 0) return system_error(errno, "writing " + shown_);
      if (written == 0)
        return Error(ErrorKind::kIo,
                     "writing " + shown_ +
                         ": the system wrote 0 bytes without an error; see whether the disk is sound");
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
  // Decides whether the next write is direct, sets is_direct_, and returns the number of bytes to write.
  std::size_t begin_write(std::uint64_t at, std::span<const std::byte> bytes) {
    const bool is_write_aligned =
        is_aligned(at) && is_aligned(reinterpret_cast<std::uintptr_t>(bytes.data()));
    const std::size_t whole = bytes.size() / kDirectAlignment * kDirectAlignment;
    const bool wants_direct = may_be_direct_ && is_write_aligned && whole > 0;
    if (wants_direct != is_direct_ && ::fcntl(fd_.get(), F_SETFL, wants_direct ? O_DIRECT : 0) == 0)
      is_direct_ = wants_direct;
    else if (wants_direct != is_direct_)
      refuse_direct();
    return is_direct_ ? whole : bytes.size();
  }
  void refuse_direct() {
    may_be_direct_ = false;
    direct_writes_->disable();
  }

  UniqueFd fd_;
  const std::string shown_;
  const std::shared_ptr<DirectWrites> direct_writes_;
  const WriteSyscalls calls_;
  bool may_be_direct_ = false;
  bool is_direct_ = false;  // the mode of the descriptor
};

}  // namespace

std::unique_ptr<WriteFile> make_write_file(UniqueFd fd, std::string shown,
                                           std::shared_ptr<DirectWrites> direct, const WriteSyscalls& calls) {
  return std::make_unique<RealWriteFile>(std::move(fd), std::move(shown), std::move(direct), calls);
}

}  // namespace ratoon::checkpoint
