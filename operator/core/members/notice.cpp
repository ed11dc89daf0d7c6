#include "operator/core/members/notice.h"

#include <algorithm>

#include "operator/core/loss/silence.h"
#include "operator/core/members/suspect_nodes.h"
#include "operator/core/wake_time.h"

namespace ratoon::core {
namespace {

// Returns when the pod of this member, which is being deleted, will end; nothing for any other pod.
std::optional<WallTime> find_pod_end(const Observation& seen, const api::MemberStatus& member) {
  const api::Pod* pod = find_pod(seen, member);
  return pod != nullptr && is_in_grace_period(seen, *pod) ? pod->ends_at : std::nullopt;
}

// Returns in a few words why members must leave this node, or an empty text if they may stay.
std::string find_reason_to_leave(const Observation& seen, const std::string& node) {
  const std::string notice = find_node_notice(seen, node);
  if (!notice.empty()) return "node " + node + " will become unavailable (" + notice + ")";
  // A pod may run on an avoided node, because the scheduler places it there if no other node has room.
  if (is_without_connections(seen, node))
    return "node " + node + " is avoided (other nodes could not connect to it)";
  return "";
}

// Returns in a few words why this incarnation of the member will end, or an empty text if it continues.
std::string find_member_notice(const Observation& seen, const api::MemberStatus& member) {
  return find_pod_end(seen, member) ? "its pod is being deleted" : find_reason_to_leave(seen, member.node);
}

// Returns whether processes of other pods were heard, and this pod was not for so long that it counts as
// silent. It may be cut off from the operator, and would save beside the next world.
bool is_silent_beside_others(const Observation& seen, const api::Pod& pod) {
  Timestamp newest{};
  Timestamp own{};
  for (const auto& process : seen.processes) {
    newest = std::max(newest, process.last_heard);
    if (process.identity.member_uid == pod.uid) own = std::max(own, process.last_heard);
  }
  return newest - own >= silence_limit(seen);
}

}  // namespace

std::optional<NodeNotice> find_notice(const Observation& seen, const api::Node& node) {
  auto notice = find_notice(node, *seen.notice_rules, seen.wall_now);
  if (notice) return notice;
  NoticeRules of_job;
  for (const auto& key : seen.job.spec.disruption_policy.notice_taints)
    of_job.push_back({.name = "disruptionPolicy.noticeTaints", .key = key});
  return find_notice(node, of_job, seen.wall_now);
}

std::string find_node_notice(const Observation& seen, const std::string& node_name) {
  const auto node = std::ranges::find(seen.nodes, node_name, &api::Node::name);
  if (node == seen.nodes.end()) return "";
  const auto notice = find_notice(seen, *node);
  return notice ? notice->sign + ", rule " + notice->rule : "";
}

std::optional<WallTime> find_node_end_time(const Observation& seen, const api::Node& node) {
  const auto notice = find_notice(seen, node);
  return earlier(node.ends_at, notice ? notice->ends_at : std::nullopt);
}

std::optional<WallTime> next_notice_time_of_nodes(const Observation& seen) {
  std::optional<WallTime> next;
  for (const auto& node : seen.nodes)
    next = earlier(next, next_notice_time(node, *seen.notice_rules, seen.wall_now));
  return next;
}

void record_node_end_times(const Observation& seen, std::vector<api::MemberStatus>& members) {
  for (auto& member : members) {
    if (member.node.empty()) member.node_ends_at.reset();
    const auto node = std::ranges::find(seen.nodes, member.node, &api::Node::name);
    if (node == seen.nodes.end()) continue;
    const auto end = find_node_end_time(seen, *node);
    member.node_ends_at = end ? std::min(*end, member.node_ends_at.value_or(*end)) : end;
  }
}

std::optional<WallTime> end_time_of_member(const Observation& seen, const api::MemberStatus& member) {
  return earlier(member.node_ends_at, find_pod_end(seen, member));
}

std::vector<api::Departure> departures_of(const Observation& seen,
                                          const std::vector<api::MemberStatus>& members) {
  std::vector<api::Departure> departures;
  for (const auto& member : members) {
    if (member.is_completed) continue;
    const auto end = end_time_of_member(seen, member);
    if (end)
      departures.push_back(
          {.role = member.role, .index = member.index, .incarnation = member.incarnation, .at = *end});
  }
  return departures;
}

std::optional<WallTime> next_pod_end_time(const Observation& seen) {
  std::optional<WallTime> next;
  for (const auto& pod : seen.pods)
    if (is_in_grace_period(seen, pod)) next = earlier(next, pod.ends_at);
  return next;
}

bool may_still_save(const Observation& seen, const api::Pod& pod) {
  if (!api::uses_launcher(seen.job.spec)) return false;
  if (std::ranges::find(seen.pod_uids_with_grace, pod.uid) != seen.pod_uids_with_grace.end()) return true;
  // A notice may have been withdrawn since the successor was named.
  const bool has_successor = std::ranges::any_of(seen.job.status.members, [&](const auto& member) {
    return member.is_leaving() && member.incarnation == pod.incarnation && member.index == pod.index &&
           member.role == pod.role;
  });
  const bool has_notice = has_successor || !find_reason_to_leave(seen, pod.node).empty();
  return has_notice && !is_silent_beside_others(seen, pod);
}

std::vector<Action> assign_successors(const Observation& seen, std::vector<api::MemberStatus>& members) {
  std::vector<Action> news;
  if (api::is_agentless(seen.job.spec)) return news;  // a successor could not take over alone
  for (auto& member : members) {
    if (member.is_leaving() || member.is_completed || member.is_absent || member.node.empty()) continue;
    const std::string notice = find_member_notice(seen, member);
    if (notice.empty()) continue;
    member.successor = member.incarnation + 1;
    member.successor_uid.clear();
    news.push_back(EmitEvent{.is_warning = false,
                             .reason = "NodeNotice",
                             .message = display_name(seen, member) + " trains on until incarnation " +
                                        std::to_string(member.successor) + " can take over: " + notice});
  }
  return news;
}

bool is_successor_ready(const Observation& seen, const api::MemberStatus& member) {
  if (!member.is_leaving()) return false;
  const api::MemberStatus successor = successor_of(member);
  const auto waiting = std::count_if(seen.processes.begin(), seen.processes.end(), [&](const auto& process) {
    return process.join_request && is_process_of(process.identity, successor) &&
           process.identity.local_rank < seen.job.spec.processes_per_node;
  });
  return waiting == seen.job.spec.processes_per_node;
}

void promote_ready_successors(const Observation& seen, std::vector<api::MemberStatus>& members) {
  for (auto& member : members) {
    if (!is_successor_ready(seen, member)) continue;
    member = successor_of(member);
    record_pod_facts(seen, member);
  }
}

}  // namespace ratoon::core
