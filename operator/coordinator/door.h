// The agents' door of one job, without any transport: what agents said, what they are to be told. Decides
// nothing but who may speak. Not thread-safe; the Coordinator serialises.
#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/contract/messages.h"
#include "base/core/clock.h"
#include "operator/api/world.h"
#include "operator/coordinator/other_starts.h"
#include "operator/coordinator/place.h"

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

  // Returns whether another start of the process may not take part any more because of it.
  bool hear_join(const JoinRequest& request, Timestamp now);
  // Whether it waits with a list of checkpoints that is too old for a world, and has not been told so yet: it
  // is to be told now, and what it asks for next comes with a new one.
  [[nodiscard]] bool take_wish_for_list(const ProcessIdentity& process);
  // Returns whether it says more than "still at work": a commit, or another stage of getting back to work.
  bool hear_beat(const Beat& beat, Timestamp now);
  void hear_completed(const Completed& completed, Timestamp now);
  // Whether an operator that takes over would know that the process is done: the job's status says it, or
  // will have its pod's record to go by.
  [[nodiscard]] bool is_recorded_as_done(const ProcessIdentity& process) const;
  // A message whose bearer cannot be proved now. Of a pod that is known it is a sign of life, and returns
  // true.
  bool hear_unproved(const ProcessIdentity& process, Timestamp now);

  // A seat in a world newer than the one the process left; taking it ends the wait.
  [[nodiscard]] std::optional<Assignment> take_seat(const ProcessIdentity& process);
  [[nodiscard]] Orders orders(const ProcessIdentity& process, WallTime now) const;

  // Returns whether one who waits for an answer may be told something that it was not told before.
  bool announce(const api::Announcement& announcement);

  // Of a job that is over: what was heard is not needed any more, and it may be much.
  void forget_processes();

  [[nodiscard]] const std::vector<api::ProcessFacts>& processes() const { return processes_; }
  // Whether a member that may speak has not been heard.
  [[nodiscard]] bool is_any_unheard() const;
  [[nodiscard]] const api::Announcement& announcement() const { return announcement_; }

 private:
  [[nodiscard]] std::optional<double> seconds_left(const ProcessIdentity& process, WallTime now) const;
  api::ProcessFacts& facts_of(const ProcessIdentity& process, Timestamp now);
  [[nodiscard]] const api::ProcessFacts* find_facts(const ProcessIdentity& process) const;
  [[nodiscard]] const api::Seat* find_seat(const ProcessIdentity& process) const;
  api::ProcessFacts* find_other_seated(const ProcessIdentity& process);
  bool note_old_lists(Timestamp from);
  void index_announcement();
  void index_processes();

  // One per place: the newest start.
  std::vector<api::ProcessFacts> processes_;
  enum class OldList { kToBeTold, kTold };
  std::unordered_map<Place, OldList, PlaceHash> old_lists_;
  OtherStarts others_;
  api::Announcement announcement_;
  std::uint64_t revision_ = 0;
  // Where in these lists each is.
  std::unordered_map<Place, std::size_t, PlaceHash> facts_at_;
  std::unordered_map<Place, std::size_t, PlaceHash> seats_at_;
  std::unordered_map<MemberPlace, std::vector<std::size_t>, PlaceHash> current_at_;
  std::unordered_map<MemberPlace, std::vector<std::size_t>, PlaceHash> departures_at_;
};

}  // namespace ratoon::coordinator
