// StartSnapshot: a copy of the tracked objects at the beginning of the first attempt, used until the run has
// its first checkpoint. If the training function is called again before the first checkpoint, objects that
// the program made outside of the training function are already trained and must be reset. The snapshot keeps
// a digest of each tensor, which shows whether the tensor has changed. The snapshot also keeps the bytes of
// the tensors, if they fit into the memory limit.
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
  // If the state has more than `bytes_max` bytes, only digests of the tensors are kept.
  explicit StartSnapshot(std::uint64_t bytes_max = std::uint64_t{1} << 30) : bytes_max_(bytes_max) {}

  // The first call of begin() makes the snapshot. A later call of begin() resets the objects that have
  // changed since the snapshot. A reset is impossible if the bytes were not kept or this process now has
  // another rank. begin() then throws a Failure, after which a new process must be started.
  void begin(const TrackedObjects& tracked, const Assignment& assignment);
  void forget() { snapshot_.reset(); }

 private:
  struct Tensor {
    checkpoint::CheckpointReader::TensorForm form;
    Hash128 digest;
    std::vector<std::byte> bytes{};  // empty if they are not kept
  };
  struct SnapshotContents {
    Rank rank{0};
    std::uint32_t world_size = 1;
    bool has_bytes = false;
    std::map<std::string, Tensor, std::less<>> tensors{};
  };
  class Source;

  [[nodiscard]] SnapshotContents make_snapshot(const CollectedState& state,
                                               const Assignment& assignment) const;
  // Returns the name of a tensor that has changed since the snapshot; empty if no tensor has changed.
  [[nodiscard]] std::string find_changed(const CollectedState& now) const;

  const std::uint64_t bytes_max_;
  std::optional<SnapshotContents> snapshot_;
};

}  // namespace ratoon::session
