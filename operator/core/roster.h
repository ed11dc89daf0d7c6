// The roster: which members a job has, which incarnation of each may join, and what to do about those that
// ended.
#pragma once

#include <string>
#include <vector>

#include "operator/core/classify.h"
#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Every member of the spec at its incarnation; members that the status does not know begin at 0, those that
// the spec no longer has are left out.
[[nodiscard]] std::vector<api::MemberStatus> desired_members(const api::TrainingJob& job);
// The same; who comes again into a place where pods of former ones are begins beyond them.
[[nodiscard]] std::vector<api::MemberStatus> next_members(const Observation& seen);

// What this incarnation's pod is called.
[[nodiscard]] std::string display_name(const Observation& seen, const api::MemberStatus& member);

// Whether the process runs in the pod of exactly this incarnation. Before that pod was seen nobody does:
// another pod of the same name may have been before it, and what ran there may still talk.
[[nodiscard]] bool is_of(const ProcessIdentity& process, const api::MemberStatus& member);

// The pod of exactly this incarnation, or nullptr.
[[nodiscard]] const api::Pod* find_pod(const Observation& seen, const api::MemberStatus& member);

// Whether it is being deleted and a member of the world that stands trains on in it: until its grace is over
// this is a notice, and no loss. Who waits for a world has nothing to save.
[[nodiscard]] bool has_time_left(const Observation& seen, const api::Pod& pod);

// What the status keeps of this incarnation's pod, if it has one.
void note_pod(const Observation& seen, api::MemberStatus& member);

// Whether exactly this incarnation is among them.
[[nodiscard]] bool contains(const std::vector<api::MemberStatus>& members, const api::MemberStatus& wanted);

// Whether the roster names this pod's incarnation; it may join, others are superseded.
[[nodiscard]] bool is_named(const api::Pod& pod, const std::vector<api::MemberStatus>& members);

// The next incarnation of a leaving member, as a member of its own.
[[nodiscard]] api::MemberStatus successor_of(const api::MemberStatus& member);

// An incarnation that nobody was asked for yet, its successor included; of the former one nothing is kept.
[[nodiscard]] api::MemberStatus make_anew(const api::MemberStatus& member);

// Who comes after this incarnation: its successor if it has one.
[[nodiscard]] api::MemberStatus next_incarnation(const api::MemberStatus& member);

// Every incarnation that may have a pod: each member, and its successor if it has one.
[[nodiscard]] std::vector<api::MemberStatus> named_incarnations(
    const std::vector<api::MemberStatus>& members);

// A member that the world lost, or one outside it.
struct Loss {
  api::MemberStatus member;  // as it was
  std::string reason;
  bool is_silent = false;
  EndCause cause = EndCause::kDisruption;
  bool is_rejection = false;    // as in Ending
  bool is_of_device = false;    // as in Ending
  bool is_of_storage = false;   // as in Ending
  bool is_unheard = false;      // as in Ending
  bool is_of_platform = false;  // as in Ending
};

// A member that counts as ended though its pod runs.
struct Verdict {
  api::MemberStatus member;
  Ending ending;
};

struct RosterChange {
  std::vector<api::MemberStatus> members;  // the new truth, stored before anything is done about it
  api::Restarts restarts;
  std::vector<Loss> losses;          // of members of the world
  std::vector<Loss> outside_losses;  // successors, and members that it was formed without
  std::vector<Action> actions;       // events of this change
  std::string fatal;                 // not empty: the job cannot go on, and why
  std::string gives_up_world;        // not empty: though no member of it was lost, and why

  // Whether the world that stood may go on, as far as its members go.
  [[nodiscard]] bool keeps_world() const { return losses.empty() && gives_up_world.empty(); }
};

// Moves members that ended, vanished, fell silent or are condemned to their next incarnation and counts each
// once.
[[nodiscard]] RosterChange replace_lost(const Observation& seen, const std::vector<api::MemberStatus>& silent,
                                        const std::vector<Verdict>& condemned = {});

// All members stay, and the next world is formed of them; counted as a hang.
void give_up_world(const Observation& seen, const std::string& why, RosterChange& change);

// Creates pods that are missing, away from these nodes, and deletes those that the roster does not name.
[[nodiscard]] std::vector<Action> follow_roster(const Observation& seen,
                                                const std::vector<api::MemberStatus>& members,
                                                const std::vector<std::string>& avoid_nodes,
                                                const std::vector<std::string>& sick_nodes);

}  // namespace ratoon::core
