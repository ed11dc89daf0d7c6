// The sums of bytes that lie in memory, made by a thread of their own while they are written. Few bytes are
// summed where they are asked for, and so are all where the system starts no further thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <span>
#include <vector>

#include "agent/src/checkpoint/pack/pack_sums.h"

namespace ratoon::checkpoint {

class SumsBeside {
 public:
  // Adds what lies in these places, one after the other, to `sums`, which is this object's until finish() or
  // its end.
  SumsBeside(PackSums& sums, std::vector<std::span<const std::byte>> data);
  // The same of what is still to come: `wait_for` returns when so many bytes of it are there, or false when
  // they will not be. Called by any thread.
  using WaitFor = std::function<bool(std::uint64_t bytes)>;
  SumsBeside(PackSums& sums, std::span<const std::byte> data, WaitFor wait_for);
  SumsBeside(const SumsBeside&) = delete;
  SumsBeside& operator=(const SumsBeside&) = delete;
  // Without finish() the sums are needed no more, and what is left of them is not made.
  ~SumsBeside();

  // Returns when all of it is in the sums.
  void finish();

 private:
  void add_all();

  void begin();

  PackSums& sums_;
  const std::vector<std::span<const std::byte>> data_;
  const WaitFor wait_for_;
  std::atomic<bool> is_needed_ = true;
  std::future<void> has_ended_;
};

}  // namespace ratoon::checkpoint
