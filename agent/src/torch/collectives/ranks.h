// Ranks: the processes of an attempt as they reach each other by way of the host. Small things go this way
// whatever computes: the control word of each step, and what is needed to connect accelerators.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ratoon/session.h>

#include "agent/src/torch/collectives/collective.h"
#include "agent/src/torch/collectives/group_collective.h"
#include "agent/src/torch/collectives/weights_mark.h"

namespace ratoon {

class Ranks {
 public:
  // Meets the others, which takes as long as the last one; each shows its mark, and all must be alike.
  Ranks(Session& session, const WeightsMark& mark);
  // The same over a group that the program has made and whose ranks are connected.
  Ranks(Session& session, const WeightsMark& mark, const c10::intrusive_ptr<c10d::Backend>& group);

  // Null in a world of one.
  [[nodiscard]] const std::shared_ptr<Collective>& collective() const { return collective_; }
  // In a step in which all ranks save: fails where their weights have drifted apart.
  void compare_again(const WeightsMark& mark);
  // Rank 0's bytes become those of all.
  void share_from_first(std::span<std::uint8_t> bytes) const;

 private:
  // What each rank has, by rank.
  [[nodiscard]] std::vector<std::string> exchange(const std::string& own) const;
  void compare(const std::vector<std::string>& marks, const WeightsMark& own);
  [[nodiscard]] std::string cause_and_way_on() const;
  [[nodiscard]] std::string name_difference(const WeightsMark& own, std::size_t rank) const;

  Session& session_;
  std::shared_ptr<Collective> collective_;
  std::optional<std::uint64_t> equal_at_;  // the step in which the weights were compared last
};

// Refuses a group whose ranks are not those of the session's world.
void check_seat(const Session& session, const c10d::Backend& group);

// Until the sums are complete; throws Interrupted when the world changed. Where a sum failed, a rank is lost,
// and the coordinator, which knows more, will say that the world changed: it is waited for.
void finish_sums(const Session& session, Collective& collective);

}  // namespace ratoon
