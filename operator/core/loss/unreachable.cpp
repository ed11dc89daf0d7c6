#include "operator/core/loss/unreachable.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/count_with_noun.h"
#include "base/core/utf8.h"
#include "operator/core/loss/silence.h"
#include "operator/core/members/completion.h"
#include "operator/core/observation_index.h"

namespace ratoon::core {
namespace {

// Members notice a network cut at different times: after the first report of an unreachable peer, wait this
// long for more reports.
constexpr Duration kReportCollectionTime = std::chrono::seconds(5);
// The status stores the explanation of a broken link as a node's `rejection`, which has a size limit.
constexpr std::size_t kExplanationBytesMax = 700;

// A member of the current world whose processes all send messages to this operator.
struct ReportingMember {
  const api::MemberStatus* member = nullptr;
  std::vector<const api::ProcessFacts*> processes;
  Timestamp heard;  // the last message of the quietest of them
};

struct NodeLinks {
  std::set<std::string_view> cut_from;            // other places
  std::vector<const api::MemberStatus*> members;  // those with a broken link, in roster order
  std::map<const api::MemberStatus*, const api::MemberStatus*> peer_of;  // one at the other end
  bool is_accused = false;
};

bool is_in_world(const Observation& seen, const api::ProcessFacts& process) {
  return !process.join_request && process.beat && process.beat->attempt == seen.job.status.attempt;
}

bool reports_unreachable_peers(const Observation& seen, const api::ProcessFacts& process) {
  return !process.is_completed && process.peers_unreachable_since && is_in_world(seen, process) &&
         !process.beat->unreachable_peers.empty();
}

// Returns whether any process reports that it cannot reach a member of the world.
bool is_any_peer_reported(const Observation& seen) {
  std::set<std::string_view> named;
  for (const auto& process : seen.processes)
    if (reports_unreachable_peers(seen, process))
      named.insert(process.beat->unreachable_peers.begin(), process.beat->unreachable_peers.end());
  return !named.empty() && std::ranges::any_of(seen.job.status.members, [&](const auto& member) {
    return !member.is_absent && named.contains(member.uid) && !is_completed(seen, member);
  });
}

// Returns the member with its processes that have not completed. Returns nothing if the member is silent or
// leaves the world, because other rules apply to such a member.
std::optional<ReportingMember> find_reporting_member(const Observation& seen, const api::MemberStatus& member,
                                                     Timestamp silent_before, Timestamp now) {
  if (member.is_absent || member.uid.empty() || is_completed(seen, member)) return std::nullopt;
  ReportingMember reporter{.member = &member, .processes = {}, .heard = now};
  for (const auto* process : processes_of(seen, member)) {
    if (!is_process_of(process->identity, member) || process->is_completed) continue;
    const Timestamp heard = process->last_heard;
    const bool is_heard = heard >= seen.listening_since && heard > silent_before;
    if (!is_heard || !is_in_world(seen, *process)) return std::nullopt;
    reporter.processes.push_back(process);
    reporter.heard = std::min(reporter.heard, heard);
  }
  return reporter.processes.empty() ? std::nullopt : std::optional(reporter);
}

std::string_view node_or_pod_of(const api::MemberStatus& member) {
  return member.node.empty() ? member.uid : member.node;
}

// Returns the members whose processes all send messages, by their UID.
std::map<std::string_view, ReportingMember> find_reporting_members(const Observation& seen, Timestamp now) {
  const Timestamp silent_before = now - silence_limit(seen);
  std::map<std::string_view, ReportingMember> reporting;
  for (const auto& member : seen.job.status.members)
    if (auto reporter = find_reporting_member(seen, member, silent_before, now))
      reporting.emplace(member.uid, *reporter);
  return reporting;
}

class BrokenLinks {
 public:
  // Adds a broken link: a process of the member `accuser` reports that it cannot reach the member `accused`.
  // The process has reported unreachable peers since `since`, and last named a further peer at `named`.
  void add(const ReportingMember& accuser, const ReportingMember& accused, Timestamp since, Timestamp named) {
    add_end(*accuser.member, *accused.member);
    add_end(*accused.member, *accuser.member).is_accused = true;
    are_heard_since_ = are_heard_since_ && std::min(accuser.heard, accused.heard) >= std::max(since, named);
    since_ = std::min(since, since_.value_or(since));
  }

  [[nodiscard]] std::optional<Timestamp> since() const { return since_; }
  // Whether the members at both ends of every broken link have sent messages after the report of the link.
  [[nodiscard]] bool are_heard_since() const { return are_heard_since_; }

  // Returns the nodes with the most broken links. Nodes that report others but are not reported themselves
  // come first in the list; then nodes whose members are later in the roster come first.
  [[nodiscard]] std::vector<const NodeLinks*> worst() const {
    std::size_t most = 0;
    for (const auto& [name, place] : places_) most = std::max(most, place.cut_from.size());
    std::vector<const NodeLinks*> found;
    for (const auto& [name, place] : places_)
      if (place.cut_from.size() == most) found.push_back(&place);
    std::ranges::sort(found, [](const NodeLinks* a, const NodeLinks* b) {
      if (a->is_accused != b->is_accused) return b->is_accused;
      return a->members.back() > b->members.back();  // all are in one list, the roster
    });
    return found;
  }

 private:
  NodeLinks& add_end(const api::MemberStatus& here, const api::MemberStatus& there) {
    NodeLinks& place = places_[node_or_pod_of(here)];
    place.cut_from.insert(node_or_pod_of(there));
    place.peer_of.emplace(&here, &there);
    const auto at = std::ranges::lower_bound(place.members, &here);
    if (at == place.members.end() || *at != &here) place.members.insert(at, &here);
    return place;
  }

  std::map<std::string_view, NodeLinks> places_;
  std::optional<Timestamp> since_;  // of the first complaint
  bool are_heard_since_ = true;
};

std::string describe(const Observation& seen, const NodeLinks& place, const api::MemberStatus& culprit) {
  const api::MemberStatus& peer = *place.peer_of.at(&culprit);
  const std::size_t others = place.cut_from.size() - 1;
  const auto on = [](const api::MemberStatus& member) {
    return member.node.empty() ? std::string() : " on " + member.node;
  };
  return cut_text(
      "has no connection to " + display_name(seen, peer) + on(peer) +
          (others == 0 ? "" : " and members on " + count_with_noun(others, "other node")) +
          ", although the operator receives messages from all of them: check whether the network of " +
          (culprit.node.empty() ? "its node" : culprit.node) +
          " works, and whether a network policy blocks connections between members",
      kExplanationBytesMax);
}

// Returns the later of two times: when the world last made a step, and when a process last got its assignment
// in this world.
Timestamp newest_progress_time(const std::map<std::string_view, ReportingMember>& reporting) {
  Timestamp newest;
  for (const auto& [uid, reporter] : reporting)
    for (const auto* process : reporter.processes) newest = std::max(newest, process->last_progress_at);
  return newest;
}

}  // namespace

UnreachableMembers find_unreachable(const Observation& seen, Timestamp now) {
  if (!seen.job.status.is_world_formed || api::is_agentless(seen.job.spec)) return {};
  if (!is_any_peer_reported(seen)) return {};
  UnreachableMembers result{.is_any_reported = true};
  const auto reporting = find_reporting_members(seen, now);
  BrokenLinks links;
  for (const auto& [uid, reporter] : reporting) {
    for (const auto* process : reporter.processes) {
      if (!reports_unreachable_peers(seen, *process)) continue;
      for (const std::string& peer : process->beat->unreachable_peers) {
        const auto accused = reporting.find(peer);
        if (accused != reporting.end() && peer != uid)
          links.add(reporter, accused->second, *process->peers_unreachable_since,
                    process->new_unreachable_peer_at);
      }
    }
  }
  if (!links.since()) return result;
  const Timestamp due = std::max(*links.since(), newest_progress_time(reporting)) + kReportCollectionTime;
  if (due > now || !links.are_heard_since()) {
    // Heartbeats without news cause no decision, so ask for a decision after the next heartbeats arrive.
    const Duration beat = std::chrono::seconds(seen.job.spec.disruption_policy.heartbeat_seconds);
    result.next_check = due > now ? due : now + beat;
    return result;
  }
  const auto worst = links.worst();
  const NodeLinks& place = *worst[seen.job.status.restarts.consecutive_crashes % worst.size()];
  const api::MemberStatus& culprit = *place.members.back();
  result.culprit = MemberToReplace{.member = culprit,
                                   .ending = {.cause = EndCause::kDisruption,
                                              .explanation = describe(seen, place, culprit),
                                              .is_platform_caused = true,
                                              .is_unreachable = true}};
  return result;
}

}  // namespace ratoon::core
