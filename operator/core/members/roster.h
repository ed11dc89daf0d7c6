// operator/core/members/: a job's members, their pods and the nodes of these. The roster: which members a job
// has, which incarnation of each may join, and how members that ended are replaced.
#pragma once

#include <string>
#include <vector>

#include "operator/core/decision.h"
#include "operator/core/loss/classify.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// All members of the spec with their incarnations. Members that the status does not contain begin at 0;
// members that the spec no longer has are left out.
[[nodiscard]] std::vector<api::MemberStatus> desired_members(const api::TrainingJob& job);
// Returns all members of the spec as well, but a new member whose index has pods of former members begins
// after their incarnations.
[[nodiscard]] std::vector<api::MemberStatus> next_members(const Observation& seen);

// Returns the name of this incarnation's pod.
[[nodiscard]] std::string display_name(const Observation& seen, const api::MemberStatus& member);

// Whether the process runs in the pod of exactly this incarnation. The value is false until the incarnation's
// pod was observed: an earlier pod may have had the same name, and its processes may still send messages.
[[nodiscard]] bool is_process_of(const ProcessIdentity& process, const api::MemberStatus& member);

// The pod of exactly this incarnation, or nullptr.
[[nodiscard]] const api::Pod* find_pod(const Observation& seen, const api::MemberStatus& member);

// Whether the pod is being deleted while its member trains in the present world: until its grace period ends
// this is a notice, not a loss. A member that waits for a world has no work to save.
[[nodiscard]] bool has_time_left(const Observation& seen, const api::Pod& pod);

// Copies the facts about this incarnation's pod to the status, if the pod exists.
void note_pod(const Observation& seen, api::MemberStatus& member);

// Whether exactly this incarnation is in the list.
[[nodiscard]] bool contains(const std::vector<api::MemberStatus>& members, const api::MemberStatus& wanted);

// Whether the roster names this pod's incarnation. An incarnation in the roster may join; others are
// superseded.
[[nodiscard]] bool is_in_roster(const api::Pod& pod, const std::vector<api::MemberStatus>& members);

// The next incarnation of a leaving member, as a member of its own.
[[nodiscard]] api::MemberStatus successor_of(const api::MemberStatus& member);

// An incarnation with a number that no member or successor had yet. The facts about the former incarnation
// are dropped.
[[nodiscard]] api::MemberStatus make_fresh_incarnation(const api::MemberStatus& member);

// The incarnation after this one: its successor if it has one.
[[nodiscard]] api::MemberStatus next_incarnation(const api::MemberStatus& member);

// All incarnations that may have a pod: each member, and its successor if it has one.
[[nodiscard]] std::vector<api::MemberStatus> named_incarnations(
    const std::vector<api::MemberStatus>& members);

// A member that was lost, in the world or outside of it.
struct Loss {
  api::MemberStatus member;  // before the loss
  std::string reason;
  bool is_silent = false;
  EndCause cause = EndCause::kDisruption;
  bool is_rejection = false;    // as in MemberEnd
  bool is_of_device = false;    // as in MemberEnd
  bool is_of_storage = false;   // as in MemberEnd
  bool is_unheard = false;      // as in MemberEnd
  bool is_of_platform = false;  // as in MemberEnd
  bool is_unreachable = false;  // as in MemberEnd
};

// A member that counts as ended although its pod runs.
struct CondemnedMember {
  api::MemberStatus member;
  MemberEnd ending;
};

struct RosterChange {
  std::vector<api::MemberStatus> members;  // the new roster, which is stored before it is acted on
  api::Restarts restarts;
  std::vector<Loss> losses;          // of members of the world
  std::vector<Loss> outside_losses;  // of successors, and of members that the world was formed without
  std::vector<Action> actions;       // events of this change
  std::string fatal;                 // not empty: why the job cannot go on
  std::string gives_up_world;        // not empty: why the world is given up although no member of it was lost

  // Whether the state of the members allows the present world to continue.
  [[nodiscard]] bool keeps_world() const { return losses.empty() && gives_up_world.empty(); }
};

// Moves members that ended, vanished, fell silent or are condemned to their next incarnation, and counts each
// once.
[[nodiscard]] RosterChange replace_lost(const Observation& seen, const std::vector<api::MemberStatus>& silent,
                                        const std::vector<CondemnedMember>& condemned = {});

// Gives up the world: all members stay, and the next world is formed of them. Counts the end of the world as
// one hang.
void give_up_world(const Observation& seen, const std::string& why, RosterChange& change);

// Creates missing pods, away from `avoid_nodes`, and deletes pods that the roster does not name.
[[nodiscard]] std::vector<Action> reconcile_pods(const Observation& seen,
                                                 const std::vector<api::MemberStatus>& members,
                                                 const std::vector<api::NodeToAvoid>& avoid_nodes,
                                                 const std::vector<std::string>& sick_nodes);

}  // namespace ratoon::core
