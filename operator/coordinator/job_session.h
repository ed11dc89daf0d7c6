// JobSession: the coordinator's state for one job, without HTTP: the facts that agents reported and the
// orders for them. The only decision of JobSession is which processes to refuse. JobSession is not
// thread-safe; the Coordinator serialises calls.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
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
  // Numbers the revisions of orders, beginning with `first_revision`. A process remembers the revision of its
  // orders: if a later operator used a revision number again, the process would miss new orders.
  explicit JobSession(std::uint64_t first_revision) : revision_(first_revision) {}

  // Returns a refusal for a local rank that the job does not have, for an older incarnation, for another pod
  // with the same name, and for an earlier start of a process if a later start has joined.
  [[nodiscard]] std::optional<Refusal> refuse(const ProcessIdentity& process) const;
  // Does the same as refuse(), and also refuses every process if the job is over.
  [[nodiscard]] std::optional<Refusal> find_join_refusal(const ProcessIdentity& process) const;

  // Refuses a completion whose last checkpoint contradicts the commits that members of that attempt reported.
  [[nodiscard]] std::optional<Refusal> find_completion_refusal(const Completed& completed) const;

  // Records a JoinRequest. Returns whether this start replaced another start of the same process.
  bool record_join(const JoinRequest& request, Timestamp now);
  // Returns true if the process waits with a list of checkpoints that is too old for forming a world. Returns
  // true once per list; the caller then requests a new list from the process.
  [[nodiscard]] bool take_checkpoint_list_request(const ProcessIdentity& process);
  // Records a heartbeat. Returns whether the heartbeat differs from the previous heartbeat of the process in
  // its commit, recovery phase or unreachable peers.
  bool record_beat(const Heartbeat& beat, Timestamp now);
  void record_completed(const Completed& completed, Timestamp now);
  // Returns whether a new leader would know that the process has completed, from the job's status or from the
  // pod's completion record.
  [[nodiscard]] bool is_recorded_as_completed(const ProcessIdentity& process) const;
  // Records a message whose token the operator cannot check now. If the process's pod is known, the message
  // counts as a sign of life of that pod, and the function returns true.
  bool record_unauthenticated(const ProcessIdentity& process, Timestamp now);

  // Returns the process's assignment if the process has a rank in a world that is newer than the world that
  // the process left. A process that has got its assignment no longer counts as waiting.
  [[nodiscard]] std::optional<Assignment> take_assignment(const ProcessIdentity& process);
  [[nodiscard]] Orders orders(const ProcessIdentity& process, WallTime now) const;

  // Stores the operator's announcement. Returns whether a waiting poll may have a new answer.
  bool announce(const api::Announcement& announcement);

  // Frees the facts about the processes of a job that is over.
  void forget_processes();

  [[nodiscard]] const std::vector<api::ProcessFacts>& processes() const { return processes_; }
  // Returns whether at least one current member has not yet sent a message.
  [[nodiscard]] bool is_any_member_unheard() const;
  [[nodiscard]] const api::Announcement& announcement() const { return announcement_; }

 private:
  [[nodiscard]] std::optional<double> seconds_left(const ProcessIdentity& process, WallTime now) const;
  api::ProcessFacts& facts_of(const ProcessIdentity& process, Timestamp now);
  [[nodiscard]] const api::ProcessFacts* find_facts(const ProcessIdentity& process) const;
  [[nodiscard]] const api::AssignedProcess* find_assigned_process(const ProcessIdentity& process) const;
  [[nodiscard]] bool is_overtaken(const Heartbeat& beat) const;
  bool mark_stale_checkpoint_lists(Timestamp from);
  // Returns the addresses to which the process with this rank tests its connections: those of the member with
  // rank 0 and of the members after the process's own member.
  [[nodiscard]] std::vector<PeerAddress> peers_of(const api::AssignedProcess& seat) const;
  void index_announcement();
  void index_processes();
  [[nodiscard]] bool is_accepted_end(const Completed& completed) const;

  // The facts about each trainer process since its newest start.
  std::vector<api::ProcessFacts> processes_;
  enum class StaleList { kToReport, kReported };
  std::unordered_map<ProcessKey, StaleList, ProcessKeyHash> stale_checkpoint_lists_;
  SupersededStarts superseded_starts_;
  api::Announcement announcement_;
  std::uint64_t revision_ = 0;
  // The end of the run that the last completion named. The processes of a job complete with the same end, so
  // each of them is compared with the reported commits of all only if a commit was reported in between.
  struct AcceptedEnd {
    Attempt attempt{0};
    ResumePoint checkpoint;
  };
  std::optional<AcceptedEnd> accepted_end_;
  // Maps from a process to its indexes in processes_ and announcement_.world.
  std::unordered_map<ProcessKey, std::size_t, ProcessKeyHash> facts_indexes_;
  std::unordered_map<ProcessKey, std::size_t, ProcessKeyHash> assigned_indexes_;
  std::vector<std::size_t> first_process_indexes_;  // of each member of the world
  std::unordered_map<MemberKey, std::vector<std::size_t>, ProcessKeyHash> current_indexes_;
  std::unordered_map<MemberKey, std::vector<std::size_t>, ProcessKeyHash> departure_indexes_;
  std::unordered_map<std::string, std::uint64_t> recorded_local_ranks_;  // by member UID, as in `done`
};

}  // namespace ratoon::coordinator
