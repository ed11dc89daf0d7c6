// FirstState: what is tracked, as it was when the loop of this process began for the first time and nothing
// of the run was saved. What outlives the training function is trained already when that is called again: an
// attempt that has nothing to resume either sets it back.
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

namespace ratoon::session {

class FirstState {
 public:
  // More than that is not kept.
  explicit FirstState(std::uint64_t bytes_max = std::uint64_t{1} << 30) : bytes_max_(bytes_max) {}

  // The first time it keeps what there is. Later it sets back what has changed meanwhile; where it cannot
  // (the state was too large, or this process has another rank, whose own state may be another by right) it
  // throws the Failure that asks for a fresh start of the process.
  void begin(const TrackedObjects& tracked, const Assignment& assignment);
  void forget() { kept_.reset(); }

 private:
  struct Tensor {
    checkpoint::CheckpointReader::Form form;
    std::vector<std::byte> bytes;
  };
  struct Kept {
    Rank rank{0};
    std::uint32_t world_size = 1;
    bool is_whole = false;
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
