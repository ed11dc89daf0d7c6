// DirectWrites: whether large files of a folder are written past the system's page cache (O_DIRECT). They are
// where the disk takes it and is no slower with it: the processor has less to do by a copy and by finding
// pages for it, and what training reads stays in the cache.
//
// It is tried once, with a file that has no name, by whoever writes the first large file.
//
// Thread contract: any thread; while one tries, others wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "base/core/unique_fd.h"

namespace ratoon::checkpoint {

// Of places in files, of lengths and of memory: what every disk is content with.
inline constexpr std::uint64_t kDirectAlignment = 4096;
// Smaller files are not worth two calls to the system, nor the trial.
inline constexpr std::uint64_t kDirectFileBytesMin = 16ULL << 20;

class DirectWrites {
 public:
  // `known` spares the trial.
  explicit DirectWrites(UniqueFd folder, std::optional<bool> known = std::nullopt)
      : folder_(std::move(folder)), pay_off_(known) {}

  [[nodiscard]] bool pay_off();
  // A write was refused as the trial's were not.
  void end();

 private:
  const UniqueFd folder_;
  std::mutex mutex_;
  std::optional<bool> pay_off_;  // guarded by mutex_; none: not tried, or there was no room to try
};

struct DirectTrial {
  double direct_seconds = 0;
  double cached_seconds = 0;  // by way of the page cache
};
[[nodiscard]] bool pays_off(const DirectTrial& trial);

}  // namespace ratoon::checkpoint
