// DirectWrites: whether large files of a folder are written past the system's page cache (O_DIRECT). Direct
// writes are used if the disk supports them and is not slower with them. Direct writes save the processor a
// copy and the search for free pages, and data that training reads stays in the cache.
//
// The thread that writes the first large file makes a trial, with a file that has no name.
//
// Thread contract: any thread; during the trial other threads wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "base/core/unique_fd.h"

namespace ratoon::checkpoint {

// Alignment of file offsets, lengths and memory addresses that every disk accepts.
inline constexpr std::uint64_t kDirectAlignment = 4096;
// With smaller files, direct writes save less than the trial and two additional system calls cost.
inline constexpr std::uint64_t kDirectFileBytesMin = 16ULL << 20;

class DirectWrites {
 public:
  // With `known`, the result of an earlier trial, the constructor makes no trial.
  explicit DirectWrites(UniqueFd folder, std::optional<bool> known = std::nullopt)
      : folder_(std::move(folder)), pay_off_(known) {}

  [[nodiscard]] bool pay_off();
  // Call end() if the system refuses a direct write after the trial succeeded: later writes go through the
  // cache.
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
