// DirectWrites: whether large files of a folder are written past the system's page cache (O_DIRECT). Direct
// writes are used if the file system supports them and they are not slower than cached writes. With direct
// writes the processor neither copies the bytes nor searches for free pages, and training data stays in the
// page cache.
//
// The thread that writes the first large file measures both kinds of writes first, with a file that has no
// name.
//
// Thread contract: any thread may call; other threads wait until the measurement (the trial) ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "base/core/unique_fd.h"

namespace ratoon::checkpoint {

// The alignment of file offsets, lengths and memory addresses, in bytes, with which every disk accepts direct
// writes.
inline constexpr std::uint64_t kDirectAlignment = 4096;
// For a file smaller than this, direct writes save less time than the trial and two additional system calls
// take.
inline constexpr std::uint64_t kDirectFileBytesMin = 16ULL << 20;

class DirectWrites {
 public:
  // If `known` holds the result of an earlier trial, no trial is made.
  explicit DirectWrites(UniqueFd folder, std::optional<bool> known = std::nullopt)
      : folder_(std::move(folder)), pay_off_(known) {}

  [[nodiscard]] bool pay_off();
  // Call end() if the system refuses a direct write although the trial succeeded. After end(), all writes go
  // through the page cache.
  void end();

 private:
  const UniqueFd folder_;
  std::mutex mutex_;
  std::optional<bool> pay_off_;  // guarded by mutex_; empty: the trial was not made, or failed
};

struct DirectWriteTrial {
  double direct_seconds = 0;
  double cached_seconds = 0;  // through the page cache
};
[[nodiscard]] bool pays_off(const DirectWriteTrial& trial);

}  // namespace ratoon::checkpoint
