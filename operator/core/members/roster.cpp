#include "operator/core/members/roster.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/core/utf8.h"
#include "operator/core/loss/classify.h"
#include "operator/core/loss/last_failure.h"
#include "operator/core/members/completion.h"
#include "operator/core/members/notice.h"
#include "operator/core/observation_index.h"
#include "operator/core/policy/failure_policy.h"
#include "operator/core/policy/restart_rules.h"
#include "operator/core/policy/suspend.h"
#include "operator/core/world/agentless_group.h"

namespace ratoon::core {
namespace {

bool is_same_incarnation(const api::MemberStatus& a, const api::MemberStatus& b) {
  return a.index == b.index && a.role == b.role && a.incarnation == b.incarnation;
}

// Reasons to replace members. The members' own pods do not show these reasons, so they are determined once
// for all members.
struct ReplacementReasons {
  const std::vector<api::MemberStatus>& silent;
  const std::vector<MemberToReplace>& to_replace;
  bool is_one_disrupted = false;  // a member of the group was lost by an outside cause
  // In a group (members without the agent): true if the pod with the address of rank 0 is gone.
  bool is_rank0_pod_lost = false;
};

bool is_first_member(const Observation& seen, const api::MemberStatus& member) {
  const auto& members = seen.job.status.members;
  return !members.empty() && is_same_incarnation(members.front(), member);
}

// Returns whether the pod's program exited with 0 because of SIGTERM and not because its work was done.
bool exited_because_of_node_end(const Observation& seen, const api::Pod& pod) {
  return pod.exit_code == 0 && !find_node_notice(seen, pod.node).empty();
}

// Classifies the end of a pod. Returns nothing while the end of a group member cannot be classified yet.
std::optional<MemberEnd> find_end_of_pod(const Observation& seen, const api::MemberStatus& member,
                                         const ReplacementReasons& charges, const api::Pod& pod) {
  const auto& policy = seen.job.spec.restart_policy;
  MemberEnd ending = apply_failure_policy(seen.job.spec, member.role, classify(pod, false, policy));
  if (is_failure(ending) && exited_because_of_node_end(seen, pod) && !match_restart_rule(policy, pod))
    return MemberEnd{EndCause::kDisruption,
                     "exit code 0 while its node was about to end: its work is not complete"};
  // Programs that fail together have one cause, although each launcher reports its own program's failure.
  if (api::uses_launcher(seen.job.spec) && ending.cause == EndCause::kApplication) {
    // Kubelets report the ends one after another. The loss that was reported first has ended the world.
    if (!seen.job.status.is_world_formed && member.has_been_in_world)
      return MemberEnd{EndCause::kDisruption, ending.explanation + ", after another member was lost"};
    ending.is_shared = true;
  }
  if (!api::is_agentless(seen.job.spec)) return ending;
  if (find_classification_time(seen, charges.is_one_disrupted, pod)) return std::nullopt;
  return classify_in_group(charges.is_one_disrupted, std::move(ending));
}

// Returns why this incarnation has ended without completion, or nothing while it continues.
std::optional<MemberEnd> find_member_end(const Observation& seen, const api::MemberStatus& member,
                                         const ReplacementReasons& charges) {
  if (charges.is_rank0_pod_lost && is_first_member(seen, member))
    return MemberEnd{.cause = EndCause::kDisruption,
                     .explanation = "vanished after other members had received its address",
                     .is_platform_caused = true};
  const api::Pod* pod = find_pod(seen, member);
  if (pod == nullptr) {
    if (member.uid.empty()) return std::nullopt;  // not created yet
    return MemberEnd{.cause = EndCause::kDisruption, .explanation = "vanished", .is_platform_caused = true};
  }
  if (pod->has_ended() || (pod->is_deleting && !is_in_grace_period(seen, *pod)))
    return find_end_of_pod(seen, member, charges, *pod);
  if (contains(charges.silent, member)) return MemberEnd{EndCause::kDisruption, "silent for too long"};
  const auto verdict = std::ranges::find_if(
      charges.to_replace, [&](const MemberToReplace& v) { return is_same_incarnation(v.member, member); });
  if (verdict != charges.to_replace.end()) return verdict->ending;
  return std::nullopt;
}

}  // namespace

bool contains(const std::vector<api::MemberStatus>& members, const api::MemberStatus& wanted) {
  return std::ranges::any_of(members,
                             [&](const auto& member) { return is_same_incarnation(member, wanted); });
}

std::string display_name(const Observation& seen, const api::MemberStatus& member) {
  return member_name(api::key_of(seen.job), member.role, member.index, member.incarnation);
}

bool is_process_of(const ProcessIdentity& process, const api::MemberStatus& member) {
  return process.index == member.index && process.role == member.role &&
         process.incarnation == member.incarnation && !member.uid.empty() && process.member_uid == member.uid;
}

std::vector<api::MemberStatus> desired_members(const api::TrainingJob& job) {
  // While a suspended job's world still saves, its members stay as they are: if the user changes the job's
  // size during that time, the change applies to the next world.
  if (job.spec.is_suspended && job.status.is_world_formed) return job.status.members;
  std::vector<api::MemberStatus> members;
  for (const auto& role : job.spec.roles) {
    for (std::uint32_t index = 0; index < api::members_max_of(job.spec, role); ++index) {
      const auto known = std::find_if(job.status.members.begin(), job.status.members.end(),
                                      [&](const auto& m) { return m.index == index && m.role == role.name; });
      const api::MemberStatus fresh{.role = role.name, .index = index};
      members.push_back(known == job.status.members.end() ? fresh : *known);
    }
  }
  return members;
}

const api::Pod* find_pod(const Observation& seen, const api::MemberStatus& member) {
  for (const auto* pod : pods_of(seen, member))
    if (member.uid.empty() || pod->uid == member.uid) return pod;
  return nullptr;
}

bool is_in_grace_period(const Observation& seen, const api::Pod& pod) {
  if (!pod.is_deleting || pod.has_ended() || !pod.ends_at || *pod.ends_at <= seen.wall_now) return false;
  const auto& status = seen.job.status;
  return status.is_world_formed &&
         std::any_of(status.members.begin(), status.members.end(),
                     [&](const auto& member) { return member.uid == pod.uid && !member.is_absent; });
}

bool is_in_roster(const api::Pod& pod, const std::vector<api::MemberStatus>& members) {
  return std::any_of(members.begin(), members.end(), [&](const auto& member) {
    return pod.index == member.index && pod.role == member.role &&
           (pod.incarnation == member.incarnation ||
            (member.is_leaving() && pod.incarnation == member.successor));
  });
}

void record_pod_facts(const Observation& seen, api::MemberStatus& member) {
  const api::Pod* pod = find_pod(seen, member);
  if (pod == nullptr) return;
  if (member.uid != pod->uid) member.has_been_in_world = false;
  member.uid = pod->uid;
  if (!pod->node.empty()) member.node = pod->node;  // an outdated view does not clear the node
}

api::MemberStatus successor_of(const api::MemberStatus& member) {
  return {.role = member.role,
          .index = member.index,
          .incarnation = member.successor,
          .uid = member.successor_uid,
          .is_absent = member.is_absent,
          .next_pod_not_before = member.next_pod_not_before};
}

api::MemberStatus make_fresh_incarnation(const api::MemberStatus& member) {
  return {.role = member.role,
          .index = member.index,
          .incarnation = std::max(member.incarnation, member.successor) + 1,
          .is_absent = member.is_absent};
}

api::MemberStatus next_incarnation(const api::MemberStatus& member) {
  if (member.is_leaving()) return successor_of(member);
  return {.role = member.role,
          .index = member.index,
          .incarnation = member.incarnation + 1,
          .is_absent = member.is_absent};
}

std::vector<api::MemberStatus> incarnations_with_successors(const std::vector<api::MemberStatus>& members) {
  std::vector<api::MemberStatus> named;
  for (const auto& member : members) {
    named.push_back(member);
    if (member.is_leaving()) named.push_back(successor_of(member));
  }
  return named;
}

namespace {

// Fails the job if failures and hangs together exceed maxRestarts.
void check_restart_limit(const Observation& seen, const std::string& news, RosterChange& change) {
  const auto& restarts = change.restarts;
  const std::uint32_t restarts_max = seen.job.spec.restart_policy.restarts_max;
  if (std::uint64_t{restarts.application} + restarts.hung > std::uint64_t{restarts.ignored} + restarts_max)
    change.fatal_reason = news + "; maxRestarts (" + std::to_string(restarts_max) + ") is used up";
}

// Returns the cause that the program's output names, for users who see only an event or the status.
std::string describe_cause_in_output(const Observation& seen, const api::MemberStatus& member,
                                     const MemberEnd& ending) {
  constexpr std::size_t kBytesMax = 300;
  const bool is_told =
      ending.cause == EndCause::kApplication || ending.cause == EndCause::kFatal || ending.is_storage_fault;
  if (!is_told) return "";
  const api::Pod* pod = find_pod(seen, member);
  const std::string exception = pod == nullptr ? "" : find_exception(pod->last_lines);
  if (!exception.empty()) return "; it said: " + cut_text(exception, kBytesMax);
  return ending.cause == EndCause::kFatal ? "; see the member's log" : "";
}

// Whether a lost member was a part of the world. The loss of a successor, or of a member that was to join the
// current world, cannot fail the job, because the world trains without it.
enum class LossScope { kOfWorld, kBesideWorld };

LossScope loss_scope_of(const Observation& seen, bool is_outside) {
  return is_outside && seen.job.status.is_world_formed ? LossScope::kBesideWorld : LossScope::kOfWorld;
}

void downgrade_fatal_end(MemberEnd& ending) {
  if (ending.cause != EndCause::kFatal) return;
  ending.cause = EndCause::kApplication;
  ending.explanation += " (its job trains without it)";
}

// Counts the member's end under its cause, and emits an event about it.
void count_member_end(const Observation& seen, const api::MemberStatus& member, const MemberEnd& ending,
                      LossScope part, RosterChange& change) {
  const std::string news =
      display_name(seen, member) + ": " + ending.explanation + describe_cause_in_output(seen, member, ending);
  if (ending.cause == EndCause::kFatal) {  // a failure too, with or without a budget
    change.fatal_reason = news;
    ++change.restarts.application;
  }
  if (ending.cause == EndCause::kApplication || ending.cause == EndCause::kHung) {
    ++(ending.cause == EndCause::kHung ? change.restarts.hung : change.restarts.application);
    if (part == LossScope::kBesideWorld || !can_fail_job(seen.job.spec, member.role))
      ++change.restarts.ignored;
    check_restart_limit(seen, news, change);
  }
  if (ending.cause == EndCause::kDisruption) ++change.restarts.disruption;
  change.actions.push_back(EmitEvent{.is_warning = true, .reason = "MemberLost", .message = news});
}

Loss make_loss(const Observation& seen, api::MemberStatus member, const MemberEnd& ending, bool is_silent) {
  record_pod_facts(seen, member);  // its node may appear in this observation for the first time
  return {.member = std::move(member),
          .reason = ending.explanation,
          .is_silent = is_silent,
          .cause = ending.cause,
          .is_kubelet_rejection = ending.is_kubelet_rejection,
          .is_device_fault = ending.is_device_fault,
          .is_storage_fault = ending.is_storage_fault,
          .is_whole_job_unheard = ending.is_whole_job_unheard,
          .is_platform_caused = ending.is_platform_caused,
          .is_unreachable = ending.is_unreachable};
}

// Replaces a successor that ended before it replaced its member; the world does not change.
void follow_successor(const Observation& seen, const std::vector<api::MemberStatus>& silent,
                      api::MemberStatus& member, RosterChange& change) {
  const api::MemberStatus successor = successor_of(member);
  auto ending = is_completed(seen, successor)
                    ? std::nullopt
                    : find_member_end(seen, successor, {.silent = silent, .to_replace = {}});
  if (ending) {
    const LossScope part = loss_scope_of(seen, /*is_outside=*/true);
    if (part == LossScope::kBesideWorld) downgrade_fatal_end(*ending);
    count_member_end(seen, successor, *ending, part, change);
    change.outside_losses.push_back(make_loss(seen, successor, *ending, contains(silent, successor)));
    ++member.successor;
    member.successor_uid.clear();
  } else if (const api::Pod* pod = find_pod(seen, successor)) {
    member.successor_uid = pod->uid;
  }
}

// If a job was made smaller and then larger, pods of a former member may still exist with a new member's
// index. The new member starts with a higher incarnation, so that ends of old pods do not count as its own.
void skip_incarnations_of_old_pods(const Observation& seen, std::vector<api::MemberStatus>& members) {
  const auto& known = seen.job.status.members;
  for (auto& member : members) {
    const bool is_new = std::none_of(known.begin(), known.end(), [&](const auto& m) {
      return m.index == member.index && m.role == member.role;
    });
    for (const auto& pod : seen.pods) {
      // If the status has no list of members, a live pod may come from the job's first decision, after which
      // the operator could not store the status.
      const bool is_former = pod.is_deleting || pod.has_ended() || !known.empty();
      const bool is_there = pod.index == member.index && pod.role == member.role;
      if (is_new && is_former && is_there)
        member.incarnation = std::max(member.incarnation, pod.incarnation + 1);
    }
  }
}

// Skips pod names that an earlier job of the same name still occupies, because a pod on a lost node cannot be
// deleted and may keep its name forever.
void skip_unusable_pod_names(const Observation& seen, std::vector<api::MemberStatus>& members) {
  const auto is_held = [&](const api::MemberStatus& member) {
    return std::ranges::find(seen.unusable_pod_names, display_name(seen, member)) !=
           seen.unusable_pod_names.end();
  };
  for (auto& member : members) {
    while (member.uid.empty() && is_held(member)) member = make_fresh_incarnation(member);
    while (member.is_leaving() && member.successor_uid.empty() && is_held(successor_of(member)))
      ++member.successor;
  }
}

bool have_same_members(const std::vector<api::MemberStatus>& a, const std::vector<api::MemberStatus>& b) {
  return std::ranges::equal(a, b, [](const auto& one, const auto& other) {
    return one.index == other.index && one.role == other.role;
  });
}

// In a group (members without the agent) each program got the number of members at its start, so a change of
// size replaces all members. Members without a pod in the observation are replaced too, because a pod that
// was requested may still appear.
void renew_resized_group(const Observation& seen, std::vector<api::MemberStatus>& members) {
  const auto& known = seen.job.status.members;
  if (!api::is_agentless(seen.job.spec) || known.empty() || have_same_members(known, members)) return;
  for (auto& member : members) member = make_fresh_incarnation(member);
}

}  // namespace

std::vector<api::MemberStatus> next_members(const Observation& seen) {
  auto members = desired_members(seen.job);
  skip_incarnations_of_old_pods(seen, members);
  renew_resized_group(seen, members);
  skip_unusable_pod_names(seen, members);
  return members;
}

RosterChange replace_lost(const Observation& seen, const std::vector<api::MemberStatus>& silent,
                          const std::vector<MemberToReplace>& to_replace) {
  RosterChange change{.members = next_members(seen), .restarts = seen.job.status.restarts};
  const bool is_agentless = api::is_agentless(seen.job.spec);
  const ReplacementReasons charges{.silent = silent,
                                   .to_replace = to_replace,
                                   .is_one_disrupted = is_agentless && is_any_member_disrupted(seen),
                                   .is_rank0_pod_lost = is_agentless && has_lost_rank0_pod(seen)};
  std::set<EndCause> counted_shared;
  for (auto& member : change.members) {
    // Records the pod's UID for a group, because a short program may end before the status is stored.
    if (is_agentless && member.uid.empty()) record_pod_facts(seen, member);
    if (is_completed(seen, member)) {
      record_pod_facts(seen, member);
      member.is_completed = true;
      member.done = 0;
      member.successor_uid.clear();  // no successor is needed; its number is not used again
      continue;
    }
    if (member.is_leaving()) follow_successor(seen, silent, member, change);
    if (auto ending = find_member_end(seen, member, charges)) {
      // If members are lost for one shared cause, the first counts as a failure, the others as disruptions.
      if (ending->is_shared && !counted_shared.insert(ending->cause).second)
        ending->cause = EndCause::kDisruption;
      const LossScope part = loss_scope_of(seen, member.is_absent);
      if (part == LossScope::kBesideWorld) downgrade_fatal_end(*ending);
      count_member_end(seen, member, *ending, part, change);
      auto& losses = member.is_absent ? change.outside_losses : change.losses;
      losses.push_back(make_loss(seen, member, *ending, contains(silent, member)));
      member = next_incarnation(member);
    }
    record_pod_facts(seen, member);
    member.done = completed_ranks_of(seen, member);
  }
  return change;
}

void give_up_world(const Observation& seen, const std::string& why, RosterChange& change) {
  change.gives_up_world = why;
  ++change.restarts.hung;
  change.actions.push_back(EmitEvent{.is_warning = true, .reason = "WorldHung", .message = why});
  check_restart_limit(seen, why, change);
}

std::vector<Action> reconcile_pods(const Observation& seen, const std::vector<api::MemberStatus>& members,
                                   const std::vector<api::NodeToAvoid>& avoid_nodes,
                                   const std::vector<std::string>& faulty_nodes) {
  std::vector<Action> actions;
  for (const auto& pod : seen.pods) {
    if (is_in_roster(pod, members) || pod.is_deleting) continue;
    actions.push_back(DeletePod{pod.name, pod.uid, "superseded", may_still_save(seen, pod)});
  }
  // In a running job, a check that fails would delay replacements.
  const bool is_new = has_no_world_since_suspension(seen.job.status);
  for (const auto& member : incarnations_with_successors(members)) {
    if (find_pod(seen, member) != nullptr || !member.uid.empty() || member.is_completed) continue;
    if (member.next_pod_not_before && *member.next_pod_not_before > seen.wall_now) continue;
    api::Pod pod{.name = display_name(seen, member),
                 .role = member.role,
                 .index = member.index,
                 .incarnation = member.incarnation};
    if (api::is_agentless(seen.job.spec)) {
      pod.group_rank_assignment = find_group_rank_assignment(seen, members, member);
      if (!pod.group_rank_assignment) continue;
    }
    actions.push_back(
        CreatePod{std::move(pod), avoid_nodes, faulty_nodes, member.incarnation == 0 || is_new});
  }
  return actions;
}

}  // namespace ratoon::core
