// StartSnapshot keeps the tracked objects as they were when this process first began its loop over steps,
// before the run's first save. Objects that outlive the training function are already trained when the
// function is called again, so an attempt without a checkpoint resets these objects. A digest of each tensor
// shows whether the tensor must be reset. The tensors' bytes are kept, too, if they fit into memory.
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
  // If the state has more than `bytes_max` bytes, only its digests are kept.
  explicit StartSnapshot(std::uint64_t bytes_max = std::uint64_t{1} << 30) : bytes_max_(bytes_max) {}

  // The first call of begin() keeps the state. A later call resets the objects that have changed since the
  // first call. If a reset is impossible (the bytes were not kept, or this process now has another rank,
  // whose state may differ), the call throws the Failure that asks for a new process.
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
  // Returns the name of a tensor that has changed; empty if no tensor has changed.
  [[nodiscard]] std::string find_changed(const CollectedState& now) const;

  const std::uint64_t bytes_max_;
  std::optional<Kept> kept_;
};

}  // namespace ratoon::session
