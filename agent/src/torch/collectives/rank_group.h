// RankGroup: connects the processes of an attempt over the network of the hosts. Gloo is used even if
// gradients are summed on accelerators. Gloo sums the control word of each step, such as the requests of all
// ranks, and sends the data with which the accelerators connect.
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
  // Waits until all ranks are connected. All ranks must pass the same `mark`, the fingerprint of their
  // weights; otherwise the call throws.
  RankGroup(Session& session, const WeightsFingerprint& mark);
  // Creates a RankGroup over a process group of the program, whose ranks are connected already.
  RankGroup(Session& session, const WeightsFingerprint& mark, const c10::intrusive_ptr<c10d::Backend>& group);

  // Returns the Collective of the group, or null if the attempt has only one process.
  [[nodiscard]] const std::shared_ptr<Collective>& collective() const { return collective_; }
  // Compares the weights of all ranks. Call compare_weights_again() in a step in which all ranks save. Throws
  // Failure if the weights differ between ranks.
  void compare_weights_again(const WeightsFingerprint& mark);
  // Copies the bytes of rank 0 into `bytes` on all ranks.
  void broadcast_from_rank_0(std::span<std::uint8_t> bytes) const;

 private:
  // Sends the text `own` to all ranks. Returns the texts of all ranks, in the order of ranks.
  [[nodiscard]] std::vector<std::string> all_gather(const std::string& own) const;
  void check_fingerprints_equal(const std::vector<std::string>& marks, const WeightsFingerprint& own);
  [[nodiscard]] std::string describe_cause() const;
  [[nodiscard]] std::string describe_difference(const WeightsFingerprint& own, std::size_t rank) const;

  Session& session_;
  std::shared_ptr<Collective> collective_;
  std::optional<std::uint64_t> last_equal_step_;  // the step in which the weights were last compared
};

// Throws if the rank or the size of a process group differs from the session's rank and number of processes.
void check_group_ranks(const Session& session, const c10d::Backend& group);

// Waits until all sums that were begun are complete. Throws Interrupted if another attempt begins. If a sum
// failed, waits until the coordinator reports that another attempt begins, because a rank was probably
// lost.
void finish_sums(const Session& session, Collective& collective);

}  // namespace ratoon
