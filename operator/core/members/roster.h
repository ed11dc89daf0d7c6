// operator/core/members/: a job's members, their pods and the pods' nodes. The roster: which members a job
// has, which incarnation (pod) of each member may join, and how members that ended are replaced.
#pragma once

#include <string>
#include <vector>

#include "operator/core/decision.h"
#include "operator/core/loss/classify.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Returns all members of the spec with their incarnations from the status. A member that is not in the status
// begins with incarnation 0; a member that is no longer in the spec is omitted.
[[nodiscard]] std::vector<api::MemberStatus> desired_members(const api::TrainingJob& job);
// Does the same as desired_members(), but if a member's index has former pods, the member begins with a
// higher incarnation than those pods.
[[nodiscard]] std::vector<api::MemberStatus> next_members(const Observation& seen);

// Returns the name of this incarnation's pod.
[[nodiscard]] std::string display_name(const Observation& seen, const api::MemberStatus& member);

// Returns whether the process runs in the pod of exactly this incarnation. Returns false until this
// incarnation's pod was seen, because processes of an earlier pod with the same name may still send messages.
[[nodiscard]] bool is_process_of(const ProcessIdentity& process, const api::MemberStatus& member);

// Returns the pod of exactly this incarnation of the member, or null.
[[nodiscard]] const api::Pod* find_pod(const Observation& seen, const api::MemberStatus& member);

// Returns whether the pod is being deleted while its member still trains in the current world. Until the
// grace period ends, this deletion counts as a preemption notice and not as a loss. A member that waits for a
// world has no grace period, because it has nothing to save.
[[nodiscard]] bool is_in_grace_period(const Observation& seen, const api::Pod& pod);

// Copies the facts about this incarnation's pod to the status, if the pod exists.
void record_pod_facts(const Observation& seen, api::MemberStatus& member);

// Returns whether exactly this incarnation of the member is in the list.
[[nodiscard]] bool contains(const std::vector<api::MemberStatus>& members, const api::MemberStatus& wanted);

// Returns whether the roster (list of members) names this pod's incarnation. Only incarnations in the roster
// may join; all others are superseded.
[[nodiscard]] bool is_in_roster(const api::Pod& pod, const std::vector<api::MemberStatus>& members);

// Returns the successor of a member that will leave, as a separate MemberStatus.
[[nodiscard]] api::MemberStatus successor_of(const api::MemberStatus& member);

// Returns the member with a new incarnation number, which neither the member nor its successor has used, and
// without the facts about its former incarnation.
[[nodiscard]] api::MemberStatus make_fresh_incarnation(const api::MemberStatus& member);

// Returns the incarnation that follows `member`: the member's successor if the member has one, otherwise the
// incarnation with the next number.
[[nodiscard]] api::MemberStatus next_incarnation(const api::MemberStatus& member);

// Returns all incarnations that may have a pod: each member, and its successor if it has one.
[[nodiscard]] std::vector<api::MemberStatus> incarnations_with_successors(
    const std::vector<api::MemberStatus>& members);

// A member that was lost, in the current world or outside of it.
struct Loss {
  api::MemberStatus member;  // before the loss
  std::string reason;
  bool is_silent = false;
  EndCause cause = EndCause::kDisruption;
  bool is_kubelet_rejection = false;  // as in MemberEnd
  bool is_device_fault = false;       // as in MemberEnd
  bool is_storage_fault = false;      // as in MemberEnd
  bool is_whole_job_unheard = false;  // as in MemberEnd
  bool is_platform_caused = false;    // as in MemberEnd
  bool is_unreachable = false;        // as in MemberEnd
};

// A member that counts as lost although its pod runs, for example because it hangs.
struct MemberToReplace {
  api::MemberStatus member;
  MemberEnd ending;
};

struct RosterChange {
  std::vector<api::MemberStatus> members;  // the new roster, which is stored before it is acted on
  api::Restarts restarts;
  std::vector<Loss> losses;          // of members of the world
  std::vector<Loss> outside_losses;  // of successors, and of members that the world was formed without
  std::vector<Action> actions;       // events of this change
  std::string fatal_reason;          // not empty: why the job cannot go on
  std::string gives_up_world;        // not empty: why the world is given up although no member of it was lost

  // Returns whether the current world can continue: none of its members was lost, and it was not given up.
  [[nodiscard]] bool keeps_world() const { return losses.empty() && gives_up_world.empty(); }
};

// Replaces each member that ended, vanished, fell silent or is in `to_replace` (hung, late, unreachable or
// stalled) by its next incarnation, and counts each loss once.
[[nodiscard]] RosterChange replace_lost(const Observation& seen, const std::vector<api::MemberStatus>& silent,
                                        const std::vector<MemberToReplace>& to_replace = {});

// Ends the world but keeps all its members: they form the next world. Counts the end of the current world as
// one hang of the job.
void give_up_world(const Observation& seen, const std::string& why, RosterChange& change);

// Returns actions that create missing pods (not on `avoid_nodes`) and delete pods that are not in `members`.
[[nodiscard]] std::vector<Action> reconcile_pods(const Observation& seen,
                                                 const std::vector<api::MemberStatus>& members,
                                                 const std::vector<api::NodeToAvoid>& avoid_nodes,
                                                 const std::vector<std::string>& faulty_nodes);

}  // namespace ratoon::core
