#include "operator/core/status/waiting_reason.h"

#include <algorithm>
#include <chrono>

#include "base/core/count_with_noun.h"
#include "base/core/utf8.h"
#include "operator/core/members/roster.h"
#include "operator/core/world/agentless_group.h"
#include "operator/core/world/elastic.h"

namespace ratoon::core {
namespace {

// If the scheduler or kubelet reports nothing about a pod until its timeout, the operator tells the user. A
// scheduler normally decides within a second.
constexpr Duration kSchedulerTimeout = std::chrono::seconds(30);
constexpr Duration kKubeletTimeout = std::chrono::seconds(60);

// Returns the scheduler's message about the first pod for which no node has room.
std::string describe_unplaced_pod(const Observation& seen, const std::vector<api::MemberStatus>& members) {
  constexpr std::size_t kBytesMax = 300;
  for (const auto& pod : seen.pods) {
    if (pod.unplaced_reason.empty() || pod.is_deleting || pod.has_ended() || !is_in_roster(pod, members) ||
        !is_pod_needed(seen, members, pod))
      continue;
    return "; no node takes " + pod.name + ": " + cut_text(pod.unplaced_reason, kBytesMax);
  }
  return "";
}

// Returns kubelet's message about the first pod that it cannot start, for example because of an image or a
// secret.
std::string describe_unstarted_container(const Observation& seen,
                                         const std::vector<api::MemberStatus>& members) {
  constexpr std::size_t kBytesMax = 600;  // the registry's answer stands last
  for (const auto& pod : seen.pods) {
    if (pod.unstarted_reason.empty() || pod.is_deleting || pod.has_ended() || !is_in_roster(pod, members))
      continue;
    return "; " + pod.name + " does not start: " + cut_text(pod.unstarted_reason, kBytesMax);
  }
  return "";
}

bool is_overdue(const Observation& seen, const api::Pod& pod, Duration timeout) {
  return pod.pending_since && seen.wall_now.since_epoch - pod.pending_since->since_epoch >= timeout;
}

// Returns whether a pod of the current members still waits for its scheduler or for kubelet.
bool is_pending(const api::Pod& pod, const std::vector<api::MemberStatus>& members) {
  return pod.phase == api::PodPhase::kPending && !pod.is_deleting && is_in_roster(pod, members);
}

// Names the first pod about which no scheduler has reported anything, perhaps because none runs.
std::string describe_silent_scheduler(const Observation& seen,
                                      const std::vector<api::MemberStatus>& members) {
  for (const auto& pod : seen.pods) {
    if (!is_pending(pod, members) || (pod.node.empty() && !is_pod_needed(seen, members, pod))) continue;
    if (const std::string why = describe_scheduler_silence(seen, pod); !why.empty()) return "; " + why;
  }
  return "";
}

// Names the first pod that kubelet does not start and whose status gives no reason. If kubelet cannot create
// the sandbox or mount the volumes, it reports the failure only by events.
std::string describe_silent_kubelet(const Observation& seen, const std::vector<api::MemberStatus>& members) {
  for (const auto& pod : seen.pods) {
    const bool is_quiet = is_pending(pod, members) && !pod.node.empty() && pod.unstarted_reason.empty();
    if (!is_quiet || !is_overdue(seen, pod, kKubeletTimeout)) continue;
    return "; " + pod.name + " is on " + pod.node + " since " + format_rfc3339(*pod.pending_since) +
           " and no container of it has started: `kubectl describe pod " + pod.name +
           "` shows its kubelet's messages about image, volumes and limits";
  }
  return "";
}

std::string describe_previous_group_pod(const Observation& seen,
                                        const std::vector<api::MemberStatus>& members) {
  const api::Pod* former = find_previous_group_pod(seen, members);
  return former == nullptr ? "" : "; pod " + former->name + " of the previous group has to end first";
}

// Names a node that members avoid, although Kubernetes reports it as ready.
std::string describe_avoided_node(const api::TrainingJobStatus& status) {
  const auto found = std::ranges::find_if(status.suspect_nodes,
                                          [](const api::SuspectNode& node) { return node.is_unreachable; });
  if (found == status.suspect_nodes.end()) return "";
  return "; " + found->name + " is avoided until " + format_rfc3339(found->until) + ": a member there " +
         found->reason;
}

std::string describe_refused_creation(const Observation& seen) {
  constexpr std::size_t kBytesMax = 300;
  return seen.refusal.empty() ? "" : "; " + cut_text(seen.refusal, kBytesMax);
}

// Names a member that failed and has not been created again, with kubelet's reason if kubelet did not start
// its last pod.
std::string describe_delayed_member(const Observation& seen, const std::vector<api::MemberStatus>& members,
                                    const std::string& rejection) {
  for (const auto& member : members) {
    if (!member.next_pod_not_before) continue;
    const std::string when = "; " + display_name(seen, member) + " is created again after a pause, at " +
                             format_rfc3339(*member.next_pod_not_before);
    return rejection.empty() ? when : when + ", because of a failure on " + rejection;
  }
  return "";
}

// Names members that asked to join and then fell silent: they do not count as ready.
std::string describe_silent_members(const Observation& seen, const std::vector<api::MemberStatus>& members) {
  std::string first;
  std::size_t others = 0;
  for (const auto& member : members) {
    const bool is_quiet = std::ranges::any_of(
        seen.quiet_processes, [&](const auto& process) { return is_process_of(process, member); });
    if (!is_quiet) continue;
    if (first.empty())
      first = display_name(seen, member);
    else
      ++others;
  }
  if (first.empty()) return "";
  const std::string limit =
      std::to_string(seen.job.spec.disruption_policy.suspect_after_seconds) + " s: no world is formed with ";
  if (others == 0)
    return "; " + first + " asked to join and has sent no message for " + limit + "it until it sends one";
  return "; " + first + " and " + count_with_noun(others, "other member") +
         " asked to join and have sent no message for " + limit + "them until they send one";
}

}  // namespace

std::string describe_scheduler_silence(const Observation& seen, const api::Pod& pod) {
  const bool has_word = !pod.node.empty() || !pod.unplaced_reason.empty();
  if (has_word || pod.is_deleting || pod.has_ended() || !is_overdue(seen, pod, kSchedulerTimeout)) return "";
  return "no scheduler has reported anything about " + pod.name + " since " +
         format_rfc3339(*pod.pending_since) + ": check that '" + pod.scheduler +
         "' runs, or name another schedulerName in the role's template";
}

std::optional<WallTime> next_scheduler_silence_report(const Observation& seen,
                                                      const api::TrainingJobStatus& status) {
  std::optional<WallTime> next;
  if (status.is_world_formed) return next;
  for (const auto& pod : seen.pods) {
    if (!is_pending(pod, status.members) || !pod.pending_since) continue;
    const Duration timeout = pod.node.empty() ? kSchedulerTimeout : kKubeletTimeout;
    const WallTime due{pod.pending_since->since_epoch + timeout};
    if (due > seen.wall_now) next = std::min(due, next.value_or(due));
  }
  return next;
}

std::string waiting_reason(const Observation& seen, const api::TrainingJobStatus& status) {
  const auto& members = status.members;
  return describe_previous_group_pod(seen, members) + describe_refused_creation(seen) +
         describe_delayed_member(seen, members, status.kubelet_rejection) +
         describe_silent_members(seen, members) + describe_avoided_node(status) +
         describe_unplaced_pod(seen, members) + describe_silent_scheduler(seen, members) +
         describe_unstarted_container(seen, members) + describe_silent_kubelet(seen, members);
}

}  // namespace ratoon::core
