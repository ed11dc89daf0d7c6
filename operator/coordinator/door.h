// The agents' door of one job, without any transport: what agents said, what they are to be told. Decides
// nothing but who may speak. Not thread-safe; the Coordinator serialises.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "base/contract/messages.h"
#include "base/core/clock.h"
#include "operator/api/world.h"

namespace ratoon::coordinator {

class Door {
 public:
  Door() = default;
  // Revisions of orders are counted from there: a process may have seen those of an operator that led before,
  // and must not take an equal number for the same orders.
  explicit Door(std::uint64_t first_revision) : revision_(first_revision) {}

  // Whether the process may speak at all: refuses local ranks that the job does not have, older incarnations,
  // other pods of the same name, and starts after which another start of their process has joined.
  [[nodiscard]] std::optional<Refusal> refuse(const ProcessIdentity& process) const;
  // Whether it may wait for a world: not once the job is over.
  [[nodiscard]] std::optional<Refusal> refuse_join(const ProcessIdentity& process) const;

  // Whether it may have completed: not with another last checkpoint than the members of that attempt told of.
  [[nodiscard]] std::optional<Refusal> refuse_completion(const Completed& completed) const;

  void hear_join(const JoinRequest& request, Timestamp now);
  // Returns whether it says more than "still at work": a commit, or another stage of getting back to work.
  bool hear_beat(const Beat& beat, Timestamp now);
  void hear_completed(const Completed& completed, Timestamp now);

  // A seat in a world newer than the one the process left; taking it ends the wait.
  [[nodiscard]] std::optional<Assignment> take_seat(const ProcessIdentity& process);
  [[nodiscard]] Orders orders(const ProcessIdentity& process, WallTime now) const;

  void announce(const api::Announcement& announcement);

  [[nodiscard]] const std::vector<api::ProcessFacts>& processes() const { return processes_; }
  [[nodiscard]] const api::Announcement& announcement() const { return announcement_; }

 private:
  struct OtherStart {
    ProcessIdentity process;
    bool is_superseded = false;
  };

  [[nodiscard]] std::optional<double> seconds_left(const ProcessIdentity& process, WallTime now) const;
  api::ProcessFacts& facts_of(const ProcessIdentity& process, Timestamp now);
  api::ProcessFacts* find_other_seated(const ProcessIdentity& process);
  void supersede_others(const ProcessIdentity& process);

  // One per (role, index, incarnation, local rank): the newest start.
  std::vector<api::ProcessFacts> processes_;
  // Starts that were heard before another one of their process, oldest first. Nothing in a start tells which
  // of two is newer; the one that joins last is, and what the others still had on the wire counts for
  // nothing.
  std::vector<OtherStart> others_;
  api::Announcement announcement_;
  std::uint64_t revision_ = 0;
};

}  // namespace ratoon::coordinator
