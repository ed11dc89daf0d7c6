// RankGroup connects the processes of an attempt over the host. Gloo exchanges small data with every kind of
// device: the control word of each step, and the data that connects accelerators.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ratoon/session.h>

#include "agent/src/torch/collectives/collective.h"
#include "agent/src/torch/collectives/gradients/weights_fingerprint.h"
#include "agent/src/torch/collectives/group_collective.h"

namespace ratoon {

class RankGroup {
 public:
  // Waits until all ranks are connected. All ranks must give the same `mark` (a fingerprint).
  RankGroup(Session& session, const WeightsFingerprint& mark);
  // Creates a RankGroup over a process group of the program, whose ranks are connected already.
  RankGroup(Session& session, const WeightsFingerprint& mark, const c10::intrusive_ptr<c10d::Backend>& group);

  // Returns the group's Collective; null in a world of one process.
  [[nodiscard]] const std::shared_ptr<Collective>& collective() const { return collective_; }
  // Call compare_again() in a step in which all ranks save. Throws Failure if the ranks' weights differ.
  void compare_again(const WeightsFingerprint& mark);
  // Copies rank 0's bytes to all ranks.
  void broadcast_from_first(std::span<std::uint8_t> bytes) const;

 private:
  // Sends `own` to all ranks. Returns the data of all ranks, in the order of ranks.
  [[nodiscard]] std::vector<std::string> exchange(const std::string& own) const;
  void compare(const std::vector<std::string>& marks, const WeightsFingerprint& own);
  [[nodiscard]] std::string describe_cause() const;
  [[nodiscard]] std::string name_difference(const WeightsFingerprint& own, std::size_t rank) const;

  Session& session_;
  std::shared_ptr<Collective> collective_;
  std::optional<std::uint64_t> equal_at_;  // the step in which the weights were last compared
};

// Refuses a group whose ranks are not those of the session's world.
void check_group_ranks(const Session& session, const c10d::Backend& group);

// Waits until the sums are complete. Throws Interrupted if the world changed. If a sum failed, a rank may be
// lost: finish_sums() then waits until the coordinator reports a changed world.
void finish_sums(const Session& session, Collective& collective);

}  // namespace ratoon
