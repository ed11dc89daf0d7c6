#include "operator/core/loss/unreachable.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/counted.h"
#include "base/core/utf8.h"
#include "operator/core/loss/silence.h"
#include "operator/core/members/completion.h"
#include "operator/core/observation_index.h"

namespace ratoon::core {
namespace {

// Members notice a network cut at different times: after the first report of an unreachable peer, wait this
// long for more reports.
constexpr Duration kAllComplain = std::chrono::seconds(5);
// The status stores the explanation of a broken link as a node's `rejection`, which has a size limit.
constexpr std::size_t kSentenceMax = 700;

// A member of the current world of which every process sends messages to this operator.
struct Witness {
  const api::MemberStatus* member = nullptr;
  std::vector<const api::ProcessFacts*> processes;
  Timestamp heard;  // the last message of the quietest of them
};

struct Place {
  std::set<std::string_view> cut_from;            // other places
  std::vector<const api::MemberStatus*> members;  // those with a broken link, in roster order
  std::map<const api::MemberStatus*, const api::MemberStatus*> peer_of;  // one at the other end
  bool is_accused = false;
};

bool is_in_world(const Observation& seen, const api::ProcessFacts& process) {
  return !process.waiting && process.beat && process.beat->attempt == seen.job.status.attempt;
}

bool complains(const Observation& seen, const api::ProcessFacts& process) {
  return !process.is_completed && process.unreachable_since && is_in_world(seen, process) &&
         !process.beat->unreachable_peers.empty();
}

// Returns whether any process reports that it cannot reach a member of the world.
bool is_any_named(const Observation& seen) {
  std::set<std::string_view> named;
  for (const auto& process : seen.processes)
    if (complains(seen, process))
      named.insert(process.beat->unreachable_peers.begin(), process.beat->unreachable_peers.end());
  return !named.empty() && std::ranges::any_of(seen.job.status.members, [&](const auto& member) {
    return !member.is_absent && named.contains(member.uid) && !is_completed(seen, member);
  });
}

// Returns nothing for a member that is silent or leaves the world: other rules apply to it.
std::optional<Witness> find_witness(const Observation& seen, const api::MemberStatus& member,
                                    Timestamp silent_before, Timestamp now) {
  if (member.is_absent || member.uid.empty() || is_completed(seen, member)) return std::nullopt;
  Witness witness{.member = &member, .processes = {}, .heard = now};
  for (const auto* process : processes_of(seen, member)) {
    if (!is_process_of(process->identity, member) || process->is_completed) continue;
    const Timestamp heard = process->last_heard;
    const bool is_heard = heard >= seen.listening_since && heard > silent_before;
    if (!is_heard || !is_in_world(seen, *process)) return std::nullopt;
    witness.processes.push_back(process);
    witness.heard = std::min(witness.heard, heard);
  }
  return witness.processes.empty() ? std::nullopt : std::optional(witness);
}

std::string_view place_of(const api::MemberStatus& member) {
  return member.node.empty() ? member.uid : member.node;
}

// Returns, by UID, the members of which every process sends messages.
std::map<std::string_view, Witness> find_witnesses(const Observation& seen, Timestamp now) {
  const Timestamp silent_before = now - limit_of_silence(seen);
  std::map<std::string_view, Witness> witnesses;
  for (const auto& member : seen.job.status.members)
    if (auto witness = find_witness(seen, member, silent_before, now))
      witnesses.emplace(member.uid, *witness);
  return witnesses;
}

class BrokenLinks {
 public:
  // `since`: when the accuser first reported an unreachable peer. `named`: when the accuser last added
  // another unreachable peer.
  void add(const Witness& accuser, const Witness& accused, Timestamp since, Timestamp named) {
    add_end(*accuser.member, *accused.member);
    add_end(*accused.member, *accuser.member).is_accused = true;
    are_heard_since_ = are_heard_since_ && std::min(accuser.heard, accused.heard) >= std::max(since, named);
    since_ = std::min(since, since_.value_or(since));
  }

  [[nodiscard]] std::optional<Timestamp> since() const { return since_; }
  // Whether the members at both ends of every broken link sent messages after the link was reported.
  [[nodiscard]] bool are_heard_since() const { return are_heard_since_; }

  // Returns the nodes with the most broken links. First in the list are nodes that report others but are not
  // reported themselves; then come nodes whose members are later in the roster.
  [[nodiscard]] std::vector<const Place*> worst() const {
    std::size_t most = 0;
    for (const auto& [name, place] : places_) most = std::max(most, place.cut_from.size());
    std::vector<const Place*> found;
    for (const auto& [name, place] : places_)
      if (place.cut_from.size() == most) found.push_back(&place);
    std::ranges::sort(found, [](const Place* a, const Place* b) {
      if (a->is_accused != b->is_accused) return b->is_accused;
      return a->members.back() > b->members.back();  // all are in one list, the roster
    });
    return found;
  }

 private:
  Place& add_end(const api::MemberStatus& here, const api::MemberStatus& there) {
    Place& place = places_[place_of(here)];
    place.cut_from.insert(place_of(there));
    place.peer_of.emplace(&here, &there);
    const auto at = std::ranges::lower_bound(place.members, &here);
    if (at == place.members.end() || *at != &here) place.members.insert(at, &here);
    return place;
  }

  std::map<std::string_view, Place> places_;
  std::optional<Timestamp> since_;  // of the first complaint
  bool are_heard_since_ = true;
};

std::string describe(const Observation& seen, const Place& place, const api::MemberStatus& culprit) {
  const api::MemberStatus& peer = *place.peer_of.at(&culprit);
  const std::size_t others = place.cut_from.size() - 1;
  const auto on = [](const api::MemberStatus& member) {
    return member.node.empty() ? std::string() : " on " + member.node;
  };
  return cut_text(
      "has no connection to " + display_name(seen, peer) + on(peer) +
          (others == 0 ? "" : " and members on " + counted(others, "other node")) +
          ", although the operator receives messages from all of them: check whether the network of " +
          (culprit.node.empty() ? "its node" : culprit.node) +
          " works, and whether a network policy blocks connections between members",
      kSentenceMax);
}

// Returns when the world last made a step, or when a process last got its assignment in it.
Timestamp newest_move(const std::map<std::string_view, Witness>& witnesses) {
  Timestamp newest;
  for (const auto& [uid, witness] : witnesses)
    for (const auto* process : witness.processes) newest = std::max(newest, process->moved);
  return newest;
}

}  // namespace

Unreachable find_unreachable(const Observation& seen, Timestamp now) {
  if (!seen.job.status.is_formed || api::is_group(seen.job.spec)) return {};
  if (!is_any_named(seen)) return {};
  Unreachable result{.is_any = true};
  const auto witnesses = find_witnesses(seen, now);
  BrokenLinks links;
  for (const auto& [uid, witness] : witnesses) {
    for (const auto* process : witness.processes) {
      if (!complains(seen, *process)) continue;
      for (const std::string& peer : process->beat->unreachable_peers) {
        const auto accused = witnesses.find(peer);
        if (accused != witnesses.end() && peer != uid)
          links.add(witness, accused->second, *process->unreachable_since, process->peer_added_at);
      }
    }
  }
  if (!links.since()) return result;
  const Timestamp due = std::max(*links.since(), newest_move(witnesses)) + kAllComplain;
  if (due > now || !links.are_heard_since()) {
    // Heartbeats without news cause no decision, so ask for a decision after the next heartbeats.
    const Duration beat = std::chrono::seconds(seen.job.spec.disruption_policy.heartbeat_seconds);
    result.next_check = due > now ? due : now + beat;
    return result;
  }
  const auto worst = links.worst();
  const Place& place = *worst[seen.job.status.restarts.crashes_in_a_row % worst.size()];
  const api::MemberStatus& culprit = *place.members.back();
  result.culprit = CondemnedMember{.member = culprit,
                                   .ending = {.cause = EndCause::kDisruption,
                                              .sentence = describe(seen, place, culprit),
                                              .is_of_platform = true,
                                              .is_unreachable = true}};
  return result;
}

}  // namespace ratoon::core
