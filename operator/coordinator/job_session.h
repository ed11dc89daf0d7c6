// JobSession: the coordinator's state of one job, without any transport: the facts from agents and the orders
// for them. The only decision of a JobSession is which processes are refused. Not thread-safe; the
// Coordinator serialises calls.
#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/contract/messages.h"
#include "base/core/clock.h"
#include "operator/api/world.h"
#include "operator/coordinator/process_key.h"
#include "operator/coordinator/superseded_starts.h"

namespace ratoon::coordinator {

class JobSession {
 public:
  JobSession() = default;
  // Revisions of orders are counted from `first_revision`. A process may remember a revision of an earlier
  // operator, and an equal number must not hide new orders from it.
  explicit JobSession(std::uint64_t first_revision) : revision_(first_revision) {}

  // Refuses local ranks that the job does not have, older incarnations, other pods of the same name, and a
  // start of a process after another start of the process has joined.
  [[nodiscard]] std::optional<Refusal> refuse(const ProcessIdentity& process) const;
  // The function also refuses once the job is over.
  [[nodiscard]] std::optional<Refusal> refuse_join(const ProcessIdentity& process) const;

  // Refuses a completion whose last checkpoint contradicts the commits that members of that attempt reported.
  [[nodiscard]] std::optional<Refusal> refuse_completion(const Completed& completed) const;

  // Returns whether the call superseded another start of the process.
  bool record_join(const JoinRequest& request, Timestamp now);
  // Whether the process waits with a list of checkpoints that is too old for a world, and has to be asked for
  // a new one. Returns true once for each stale list.
  [[nodiscard]] bool take_list_request(const ProcessIdentity& process);
  // Returns whether the beat reports a commit, another stage of the recovery or other unreachable peers.
  bool record_beat(const Beat& beat, Timestamp now);
  void record_completed(const Completed& completed, Timestamp now);
  // Whether an operator that takes over would know that the process has completed: from the job's status, or
  // from the completion record of its pod.
  [[nodiscard]] bool is_recorded_as_completed(const ProcessIdentity& process) const;
  // Records a message whose bearer cannot be authenticated now. If the pod is known, the message counts as a
  // sign of life, and the function returns true.
  bool record_unauthenticated(const ProcessIdentity& process, Timestamp now);

  // Returns an assignment in a world newer than the one that the process left. Returning the assignment ends
  // the wait of the process.
  [[nodiscard]] std::optional<Assignment> take_seat(const ProcessIdentity& process);
  [[nodiscard]] Orders orders(const ProcessIdentity& process, WallTime now) const;

  // Returns whether a parked poll may have a new answer.
  bool announce(const api::Announcement& announcement);

  // For a job that is over: frees the facts about its processes.
  void forget_processes();

  [[nodiscard]] const std::vector<api::ProcessFacts>& processes() const { return processes_; }
  // Whether at least one current member has not yet sent a message.
  [[nodiscard]] bool is_any_unheard() const;
  [[nodiscard]] const api::Announcement& announcement() const { return announcement_; }

 private:
  [[nodiscard]] std::optional<double> seconds_left(const ProcessIdentity& process, WallTime now) const;
  api::ProcessFacts& facts_of(const ProcessIdentity& process, Timestamp now);
  [[nodiscard]] const api::ProcessFacts* find_facts(const ProcessIdentity& process) const;
  [[nodiscard]] const api::Seat* find_seat(const ProcessIdentity& process) const;
  api::ProcessFacts* find_other_seated(const ProcessIdentity& process);
  bool note_stale_lists(Timestamp from);
  // The addresses that the process in this seat probes: of rank 0's member, and of the members after its own.
  [[nodiscard]] std::vector<PeerAddress> peers_of(const api::Seat& seat) const;
  void index_announcement();
  void index_processes();

  // The newest start of each process.
  std::vector<api::ProcessFacts> processes_;
  enum class StaleList { kToReport, kReported };
  std::unordered_map<ProcessKey, StaleList, ProcessKeyHash> stale_lists_;
  SupersededStarts starts_;
  api::Announcement announcement_;
  std::uint64_t revision_ = 0;
  // The positions of items in the lists above.
  std::unordered_map<ProcessKey, std::size_t, ProcessKeyHash> facts_at_;
  std::unordered_map<ProcessKey, std::size_t, ProcessKeyHash> seats_at_;
  std::vector<std::size_t> first_seats_;  // of each member of the world
  std::unordered_map<MemberKey, std::vector<std::size_t>, ProcessKeyHash> current_at_;
  std::unordered_map<MemberKey, std::vector<std::size_t>, ProcessKeyHash> departures_at_;
};

}  // namespace ratoon::coordinator
