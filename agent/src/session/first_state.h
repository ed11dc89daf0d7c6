// FirstState: what is tracked, as it was when the loop of this process began for the first time and nothing
// of the run was saved. What outlives the training function is trained already when that is called again: an
// attempt that has nothing to resume either sets it back. A digest of each tensor says whether it must; its
// bytes are kept besides where there is memory for them.
//
//   FirstState first;
//   first.begin(tracked, assignment);  // in each attempt that begins without a checkpoint
//   first.forget();                    // once there is one
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/src/session/tracked_objects.h"
#include "base/contract/messages.h"
#include "base/core/xxh3.h"

namespace ratoon::session {

class FirstState {
 public:
  // Of a state with more bytes than that the digests alone are kept.
  explicit FirstState(std::uint64_t bytes_max = std::uint64_t{1} << 30) : bytes_max_(bytes_max) {}

  // The first time it keeps what there is. Later it sets back what has changed meanwhile; where it cannot
  // (the bytes are not kept, or this process has another rank, whose own state may be another by right) it
  // throws the Failure that asks for a fresh start of the process.
  void begin(const TrackedObjects& tracked, const Assignment& assignment);
  void forget() { kept_.reset(); }

 private:
  struct Tensor {
    checkpoint::CheckpointReader::Form form;
    Hash128 digest;
    std::vector<std::byte> bytes{};  // none where they are not kept
  };
  struct Kept {
    Rank rank{0};
    std::uint32_t world_size = 1;
    bool has_bytes = false;
    std::map<std::string, Tensor, std::less<>> tensors{};
  };
  class Source;

  [[nodiscard]] Kept keep(const CollectedState& state, const Assignment& assignment) const;
  // The name of a tensor that is not as it was; empty: all are.
  [[nodiscard]] std::string find_changed(const CollectedState& now) const;

  const std::uint64_t bytes_max_;
  std::optional<Kept> kept_;
};

}  // namespace ratoon::session
