// StartSnapshot: the tracked objects, as they were when the loop of this process began for the first time and
// nothing of the run was saved. Objects that outlive the training function are already trained when the
// function is called again, so an attempt without a checkpoint resets them. A digest of each tensor shows
// whether a reset is needed. The bytes are kept as well if there is memory for them.
//
//   StartSnapshot first;
//   first.begin(tracked, assignment);  // in each attempt that begins without a checkpoint
//   first.forget();                    // once there is one
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/src/session/state/tracked_objects.h"
#include "base/contract/messages.h"
#include "base/core/xxh3.h"

namespace ratoon::session {

class StartSnapshot {
 public:
  // For a state with more than `bytes_max` bytes only the digests are kept.
  explicit StartSnapshot(std::uint64_t bytes_max = std::uint64_t{1} << 30) : bytes_max_(bytes_max) {}

  // The first call keeps the state. A later call resets the objects that have changed since. If a reset is
  // impossible (the bytes are not kept, or this process has another rank, whose own state may rightly
  // differ), the call throws the Failure that asks for a fresh start of the process.
  void begin(const TrackedObjects& tracked, const Assignment& assignment);
  void forget() { kept_.reset(); }

 private:
  struct Tensor {
    checkpoint::CheckpointReader::Form form;
    Hash128 digest;
    std::vector<std::byte> bytes{};  // empty if they are not kept
  };
  struct Kept {
    Rank rank{0};
    std::uint32_t world_size = 1;
    bool has_bytes = false;
    std::map<std::string, Tensor, std::less<>> tensors{};
  };
  class Source;

  [[nodiscard]] Kept keep(const CollectedState& state, const Assignment& assignment) const;
  // The name of a tensor that has changed; empty: no tensor has changed.
  [[nodiscard]] std::string find_changed(const CollectedState& now) const;

  const std::uint64_t bytes_max_;
  std::optional<Kept> kept_;
};

}  // namespace ratoon::session
