#include "operator/core/roster.h"

#include <algorithm>

#include "operator/core/classify.h"

namespace ratoon::core {
namespace {

std::string display_name(const Observation& seen, const api::MemberStatus& member) {
  return member_name(api::key_of(seen.job), member.role, member.index, member.incarnation);
}

// What ended this incarnation, if anything did.
std::optional<Ending> find_ending(const Observation& seen, const api::MemberStatus& member,
                                  const std::vector<api::ProcessFacts>& silent) {
  if (is_completed(seen, member)) return std::nullopt;
  const api::Pod* pod = find_pod(seen, member);
  if (pod == nullptr) {
    if (member.uid.empty()) return std::nullopt;  // not made yet
    return Ending{EndCause::kDisruption, "vanished"};
  }
  if (pod->has_ended() || pod->is_deleting) return classify(*pod, false);
  const bool is_silent = std::any_of(silent.begin(), silent.end(),
                                     [&](const auto& process) { return is_of(process.identity, member); });
  if (is_silent) return Ending{EndCause::kDisruption, "silent for too long"};
  return std::nullopt;
}

}  // namespace

bool is_of(const ProcessIdentity& process, const api::MemberStatus& member) {
  return process.role == member.role && process.index == member.index &&
         process.incarnation == member.incarnation && !member.uid.empty() && process.member_uid == member.uid;
}

std::vector<api::MemberStatus> desired_members(const api::TrainingJob& job) {
  std::vector<api::MemberStatus> members;
  for (const auto& role : job.spec.roles) {
    for (std::uint32_t index = 0; index < role.replicas.value_or(job.spec.num_nodes); ++index) {
      const auto known = std::find_if(job.status.members.begin(), job.status.members.end(),
                                      [&](const auto& m) { return m.role == role.name && m.index == index; });
      if (known != job.status.members.end())
        members.push_back(*known);
      else
        members.push_back({.role = role.name, .index = index, .incarnation = 0, .uid = ""});
    }
  }
  return members;
}

const api::Pod* find_pod(const Observation& seen, const api::MemberStatus& member) {
  const auto found = std::find_if(seen.pods.begin(), seen.pods.end(), [&](const api::Pod& pod) {
    return pod.role == member.role && pod.index == member.index && pod.incarnation == member.incarnation &&
           (member.uid.empty() || pod.uid == member.uid);
  });
  return found == seen.pods.end() ? nullptr : &*found;
}

bool is_named(const api::Pod& pod, const std::vector<api::MemberStatus>& members) {
  return std::any_of(members.begin(), members.end(), [&](const auto& member) {
    return pod.role == member.role && pod.index == member.index && pod.incarnation == member.incarnation;
  });
}

bool is_completed(const Observation& seen, const api::MemberStatus& member) {
  const auto done = std::count_if(seen.processes.begin(), seen.processes.end(), [&](const auto& process) {
    return process.is_completed && is_of(process.identity, member) &&
           process.identity.local_rank < seen.job.spec.processes_per_node;
  });
  return done == seen.job.spec.processes_per_node;
}

RosterChange replace_lost(const Observation& seen, const std::vector<api::ProcessFacts>& silent) {
  RosterChange change{.members = desired_members(seen.job), .restarts = seen.job.status.restarts};
  for (auto& member : change.members) {
    if (const auto ending = find_ending(seen, member, silent)) {
      const std::string news = display_name(seen, member) + ": " + ending->sentence;
      if (ending->cause == EndCause::kFatal) change.fatal = news;
      if (ending->cause == EndCause::kApplication &&
          ++change.restarts.application > seen.job.spec.restart_policy.restarts_max) {
        change.fatal = news + "; maxRestarts (" + std::to_string(seen.job.spec.restart_policy.restarts_max) +
                       ") is used up";
      }
      if (ending->cause == EndCause::kDisruption) ++change.restarts.disruption;
      change.actions.push_back(EmitEvent{.is_warning = true, .reason = "MemberLost", .message = news});
      member = {.role = member.role, .index = member.index, .incarnation = member.incarnation + 1, .uid = ""};
    } else if (const api::Pod* pod = find_pod(seen, member)) {
      member.uid = pod->uid;
    }
  }
  return change;
}

std::vector<Action> follow_roster(const Observation& seen, const std::vector<api::MemberStatus>& members) {
  std::vector<Action> actions;
  for (const auto& pod : seen.pods) {
    if (!is_named(pod, members) && !pod.is_deleting) {
      actions.push_back(DeletePod{.name = pod.name, .uid = pod.uid, .reason = "superseded"});
    }
  }
  for (const auto& member : members) {
    if (find_pod(seen, member) != nullptr || !member.uid.empty()) continue;
    api::Pod pod;
    pod.name = display_name(seen, member);
    pod.role = member.role;
    pod.index = member.index;
    pod.incarnation = member.incarnation;
    actions.push_back(CreatePod{std::move(pod)});
  }
  return actions;
}

}  // namespace ratoon::core
