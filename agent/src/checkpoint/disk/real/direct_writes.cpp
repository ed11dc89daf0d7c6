#include "agent/src/checkpoint/disk/real/direct_writes.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <span>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/src/checkpoint/disk/real/memory_file_system.h"

namespace ratoon::checkpoint {
namespace {

constexpr std::size_t kTrialBytes = 16 << 20;
constexpr int kTrialRounds = 2;                   // the first round may find a cold disk
constexpr double kSufficientRoundSeconds = 0.25;  // a round that takes longer is enough for a comparison
constexpr double kTolerableSlowdown = 1.1;  // tolerates noise: direct writes save cache and processor time

// The bytes that run_write_trial() writes to measure the speed of writes. The bytes are changing numbers,
// because a file system may store zeros as a hole and write nothing.
class TrialBuffer {
 public:
  TrialBuffer()
      : at_(::mmap(nullptr, kTrialBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    std::uint64_t mark = 1;
    for (std::uint64_t& number : numbers()) number = mark = mark * 6364136223846793005 + 1442695040888963407;
  }
  TrialBuffer(const TrialBuffer&) = delete;
  TrialBuffer& operator=(const TrialBuffer&) = delete;
  ~TrialBuffer() {
    if (at_ != MAP_FAILED) ::munmap(at_, kTrialBytes);
  }
  [[nodiscard]] std::span<std::uint64_t> numbers() const {
    if (at_ == MAP_FAILED) return {};
    return {static_cast<std::uint64_t*>(at_), kTrialBytes / sizeof(std::uint64_t)};
  }

 private:
  void* at_;
};

// Returns the seconds until the bytes are on the disk, or nothing, with errno set, if a call fails.
std::optional<double> measure_write_seconds(int folder, int flags, std::span<const std::byte> bytes) {
  const UniqueFd fd(::openat(folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC | flags, 0600));
  if (!fd.is_open()) return std::nullopt;
  const auto began = std::chrono::steady_clock::now();
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t written = ::pwrite(fd.get(), bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return std::nullopt;
    at += static_cast<std::size_t>(written);
  }
  if (::fdatasync(fd.get()) != 0) return std::nullopt;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// Measures direct and cached writes in turn. Returns true if direct writes are not slower, false if they are
// slower or not supported (EINVAL), and nothing if the trial cannot be made now.
std::optional<bool> run_write_trial(int folder) {
  if (is_in_memory(folder)) return false;
  const TrialBuffer memory;
  const auto bytes = std::as_bytes(memory.numbers());
  if (bytes.empty()) return std::nullopt;
  DirectWriteTrial best{.direct_seconds = 1e9, .cached_seconds = 1e9};
  for (int round = 0; round < kTrialRounds; ++round) {
    const auto direct = measure_write_seconds(folder, O_DIRECT, bytes);
    if (!direct) return errno == EINVAL || errno == EOPNOTSUPP ? std::optional(false) : std::nullopt;
    const auto cached = measure_write_seconds(folder, 0, bytes);
    if (!cached) return std::nullopt;
    best.direct_seconds = std::min(best.direct_seconds, *direct);
    best.cached_seconds = std::min(best.cached_seconds, *cached);
    if (*direct + *cached > kSufficientRoundSeconds) break;
  }
  return is_direct_write_worthwhile(best);
}

}  // namespace

bool is_direct_write_worthwhile(const DirectWriteTrial& trial) {
  return trial.direct_seconds <= kTolerableSlowdown * trial.cached_seconds;
}

bool DirectWrites::are_worthwhile() {
  const MutexLock lock(mutex_);
  if (!are_worthwhile_) are_worthwhile_ = run_write_trial(folder_.get());
  return are_worthwhile_.value_or(false);
}

void DirectWrites::disable() {
  const MutexLock lock(mutex_);
  are_worthwhile_ = false;
}

}  // namespace ratoon::checkpoint
