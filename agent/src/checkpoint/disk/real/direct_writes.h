// DirectWrites: decides whether large files of a folder are written past the system's page cache (O_DIRECT).
// Direct writes are used if the file system supports them and they are not slower than cached writes. With
// direct writes the processor neither copies the bytes nor searches for free pages, and training data stays
// in the page cache.
//
// Before it writes the first large file, a thread makes a trial: it measures direct and cached writes with a
// temporary file that has no name.
//
// Thread contract: any thread may call any function; a call during a trial waits until the trial ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/core/threads/mutex.h"
#include "base/core/unique_fd.h"

namespace ratoon::checkpoint {

// The alignment of file offsets, lengths and memory addresses, in bytes, with which every disk accepts direct
// writes.
inline constexpr std::uint64_t kDirectAlignment = 4096;
// For a file below kDirectFileBytesMin, direct writes save less time than the trial and two additional system
// calls take.
inline constexpr std::uint64_t kDirectFileBytesMin = 16ULL << 20;

class DirectWrites {
 public:
  // If `known` holds the result of an earlier trial, no trial is made.
  explicit DirectWrites(UniqueFd folder, std::optional<bool> known = std::nullopt)
      : folder_(std::move(folder)), are_worthwhile_(known) {}

  [[nodiscard]] bool are_worthwhile();
  // Call disable() if the system refuses a direct write although the trial succeeded. After disable(), all
  // writes go through the page cache.
  void disable();

 private:
  const UniqueFd folder_;
  Mutex mutex_;
  // Empty: the trial was not made, or failed.
  std::optional<bool> are_worthwhile_ RATOON_GUARDED_BY(mutex_);
};

struct DirectWriteTrial {
  double direct_seconds = 0;
  double cached_seconds = 0;  // through the page cache
};
[[nodiscard]] bool is_direct_write_worthwhile(const DirectWriteTrial& trial);

}  // namespace ratoon::checkpoint
