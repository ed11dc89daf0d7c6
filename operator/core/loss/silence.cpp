#include "operator/core/loss/silence.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <string>

#include "operator/core/members/completion.h"
#include "operator/core/members/roster.h"
#include "operator/core/members/suspect_nodes.h"
#include "operator/core/observation_index.h"

namespace ratoon::core {
namespace {

// A member with a live pod, and the last message time of the process that has been silent for the longest
// time.
struct MemberSilence {
  api::MemberStatus member;
  Timestamp heard;
  std::string place;  // its node; if that is unknown, its pod
  std::string zone;   // of that node; empty: unknown
};

using Places = std::map<std::string, std::string>;  // to the zone of each

struct Members {
  std::vector<MemberSilence> heard;
  std::vector<MemberSilence> unheard;   // in a world that was formed before this operator began to listen
  std::vector<MemberSilence> starting;  // they have sent messages and were in no world yet
  std::size_t completed = 0;
  std::set<std::string> zones_of_completed;
};

struct MessageTimes {
  std::optional<Timestamp>
      quietest;  // the last message of the quietest process that was in a world and has not completed
  std::optional<Timestamp> quietest_starting;  // the same among those that were in no world
  std::optional<Timestamp> newest;             // of any of its processes
  std::size_t count = 0;                       // number of processes that have sent a message to any operator
};

bool is_starting(const Observation& seen, const api::ProcessFacts& process) {
  if (process.is_completed || process.has_met) return false;
  return find_seat(seen, process.identity) == nullptr;
}

// `sits`: the member is in a world that was formed before this operator process received messages, so none of
// its processes is still starting.
MessageTimes message_times_of(const Observation& seen, const api::MemberStatus& member, const api::Pod& pod,
                              bool sits) {
  MessageTimes voices;
  std::uint64_t unheard_done = member.done;  // reported to an earlier operator; they have ended
  for (const auto* const of_member : processes_of(seen, member)) {
    const auto& process = *of_member;
    if (process.identity.member_uid != pod.uid) continue;
    ++voices.count;
    if (process.identity.local_rank < api::kProcessesPerNodeMax)
      unheard_done &= ~(std::uint64_t{1} << process.identity.local_rank);
    voices.newest = std::max(process.last_heard, voices.newest.value_or(process.last_heard));
    if (process.is_completed) continue;
    auto& quietest = !sits && is_starting(seen, process) ? voices.quietest_starting : voices.quietest;
    quietest = std::min(process.last_heard, quietest.value_or(process.last_heard));
  }
  voices.count += static_cast<std::size_t>(std::popcount(unheard_done));
  return voices;
}

std::string zone_of(const Observation& seen, const std::string& name) {
  const auto node = std::ranges::find(seen.nodes, name, &api::Node::name);
  return node == seen.nodes.end() ? "" : node->zone;
}

MemberSilence listened(const Observation& seen, const api::MemberStatus& member, const api::Pod& pod,
                       Timestamp heard) {
  return {.member = member,
          .heard = heard,
          .place = pod.node.empty() ? "pod " + pod.uid : "node " + pod.node,
          .zone = zone_of(seen, pod.node)};
}

// For a member that was in no world yet, returns since when its node has been silent, according to a lost
// member on the same node or to the platform's (late) report on the node. Returns nothing if the node is not
// known to be lost, because then the member may still be starting.
std::optional<Timestamp> find_lost_node(const Observation& seen, const api::MemberStatus& member,
                                        const api::Pod& pod, const MessageTimes& voices, Timestamp now) {
  const bool is_lost = std::ranges::any_of(
      seen.nodes, [&](const api::Node& node) { return node.name == pod.node && node.is_lost; });
  if (is_lost) return seen.listening_since;
  const auto& suspects = seen.job.status.suspect_nodes;
  const auto suspect = std::ranges::find(suspects, pod.node, &api::SuspectNode::name);
  if (suspect == suspects.end() || suspect->is_unreachable) return std::nullopt;
  const WallTime since = suspected_since(seen, *suspect);
  const Timestamp suspected_at = now - std::max(Duration(0), seen.wall_now.since_epoch - since.since_epoch);
  // If the node started this member after the lost member's last heartbeat, or if this member sent a message
  // after that heartbeat, the node is alive, although a member on it was lost.
  if (member.awaited_since > since || voices.newest > suspected_at) return std::nullopt;
  return std::max(seen.listening_since, suspected_at);
}

Members find_members(const Observation& seen, Timestamp now) {
  Members found;
  const auto sits = [&](const api::MemberStatus& member) {  // a successor may have sent no message yet
    return is_world_forgotten(seen) && !api::is_group(seen.job.spec) && !member.is_absent &&
           std::find(seen.job.status.members.begin(), seen.job.status.members.end(), member) !=
               seen.job.status.members.end();
  };
  const bool is_ending = has_made_last_step(seen);
  const auto desired = desired_members(seen.job);
  for (const auto& member : named_incarnations(desired)) {
    const api::Pod* pod = find_pod(seen, member);
    if (is_completed(seen, member)) {
      ++found.completed;
      found.zones_of_completed.insert(zone_of(seen, pod == nullptr ? member.node : pod->node));
      continue;
    }
    if (pod == nullptr || pod->has_ended()) continue;
    if (pod->is_deleting && !has_time_left(seen, *pod)) continue;
    const MessageTimes voices = message_times_of(seen, member, *pod, sits(member));
    // A silent member may have completed just before the last leader ended without storing the completion.
    const bool may_be_done = is_ending && voices.newest;
    const bool is_missed = sits(member) && voices.count < seen.job.spec.processes_per_node && !may_be_done;
    const auto lost_since = voices.quietest ? std::nullopt : find_lost_node(seen, member, *pod, voices, now);
    if (is_missed || lost_since) {
      const Timestamp since = is_missed ? seen.listening_since : *lost_since;
      const Timestamp heard = voices.quietest_starting.value_or(since);
      found.unheard.push_back(listened(seen, member, *pod, std::max(since, heard)));
      continue;
    }
    if (voices.quietest)
      found.heard.push_back(listened(seen, member, *pod, std::max(*voices.quietest, seen.listening_since)));
    if (voices.quietest_starting) {
      const Timestamp heard = std::max(*voices.quietest_starting, seen.listening_since);
      found.starting.push_back(listened(seen, member, *pod, heard));
    }
  }
  return found;
}

// How often members send heartbeats, and how long a member may be silent. Members of a world keep the
// heartbeat interval of their assignment even if the job's spec changes.
struct Rhythm {
  Duration limit;
  Duration heartbeat;
};

Rhythm rhythm_of(const Observation& seen) {
  constexpr int kBeatsMissed = 3;
  const auto& policy = seen.job.spec.disruption_policy;
  Rhythm rhythm{.limit = std::chrono::seconds(policy.suspect_after_seconds),
                .heartbeat = std::chrono::seconds(policy.heartbeat_seconds)};
  if (seen.world.empty()) return rhythm;
  const Duration told = from_seconds(seen.world.front().assignment.beat_seconds);
  if (told > rhythm.heartbeat)
    rhythm = {.limit = std::max(rhythm.limit, told * kBeatsMissed), .heartbeat = told};
  return rhythm;
}

void check_again_at(Timestamp moment, SilentMembers& result) {
  result.next_check = std::min(moment, result.next_check.value_or(moment));
}

// Adds a member only once: it may be lost for two reasons, a silent process and a process that did not
// continue after its restart.
void note_lost(const api::MemberStatus& member, SilentMembers& result) {
  if (std::ranges::find(result.lost, member) == result.lost.end()) result.lost.push_back(member);
}

// The nodes of members, grouped by whether heartbeats arrive from them.
struct NodesByActivity {
  Places talking;
  Places fading;  // silent for less than the limit, but for longer than a live member normally is
  std::size_t completed = 0;
  std::set<std::string> zones_of_completed;
};

// A silence of many members, which get a longer limit because the cause may be the network and not the
// members.
struct MassSilence {
  bool is_everywhere = false;
  std::set<std::string> zones;

  [[nodiscard]] bool includes(const MemberSilence& member) const {
    return is_everywhere || zones.contains(member.zone);
  }
};

// Finds zones that are silent as a whole, and whether most nodes are silent; fewer than `everywhere_from`
// silent nodes never count as most nodes.
MassSilence find_mass_silence(Places silent, std::size_t everywhere_from, const NodesByActivity& sounds) {
  silent.insert(sounds.fading.begin(), sounds.fading.end());
  MassSilence mass;
  mass.is_everywhere =
      silent.size() >= everywhere_from && silent.size() > sounds.completed + sounds.talking.size();
  std::map<std::string, std::size_t> places_in;
  for (const auto& [place, zone] : silent) ++places_in[zone];
  for (const auto& [place, zone] : sounds.talking) places_in.erase(zone);
  for (const auto& zone : sounds.zones_of_completed) places_in.erase(zone);
  for (const auto& [zone, places] : places_in)
    if (!zone.empty() && places > 1) mass.zones.insert(zone);
  return mass;
}

Places places_of(const std::vector<MemberSilence>& members) {
  Places places;
  for (const auto& member : members) places.emplace(member.place, member.zone);
  return places;
}

// Returns whether the platform reports a node of members without a message as lost. If the platform reports
// no lost node, perhaps the silent members have only not found this operator process yet, on one node as well
// as on many: the address of a new leader may reach them seconds late.
bool is_any_node_reported_lost(const Observation& seen, const std::vector<MemberSilence>& unheard) {
  return std::ranges::any_of(unheard, [&](const MemberSilence& member) {
    return std::ranges::any_of(seen.nodes, [&](const api::Node& node) {
      return node.is_lost && member.place == "node " + node.name;
    });
  });
}

// Moves members that were silent for too long from `silent` to `result.lost`. If most nodes are silent, the
// limit is ten times as long as otherwise.
void apply_failure_policy(std::vector<MemberSilence>& silent, const Places& silent_beside,
                          std::size_t everywhere_from, const NodesByActivity& sounds, Duration limit,
                          Timestamp now, SilentMembers& result) {
  // A lost member no longer counts as silent, so apply the rules again to the remaining silent members.
  for (bool is_settled = false; !is_settled;) {
    Places places = places_of(silent);
    places.insert(silent_beside.begin(), silent_beside.end());
    const MassSilence mass = find_mass_silence(std::move(places), everywhere_from, sounds);
    const auto silence_limit_of = [&](const MemberSilence& member) {
      return mass.includes(member) ? limit * kMassFactor : limit;
    };
    is_settled = std::erase_if(silent, [&](const MemberSilence& member) {
                   if (now - member.heard < silence_limit_of(member)) return false;
                   note_lost(member.member, result);
                   return true;
                 }) == 0;
    if (!is_settled) continue;
    for (const auto& member : silent) check_again_at(member.heard + silence_limit_of(member), result);
  }
}

// Removes from `members` those that were silent for less than the limit. Records the nodes of these members
// as active (talking) or nearly silent (fading), and when to check them again.
void keep_silent(std::vector<MemberSilence>& members, Duration limit, Duration heartbeat, Timestamp now,
                 NodesByActivity& sounds, SilentMembers& result) {
  std::erase_if(members, [&](const MemberSilence& member) {
    const Duration silence = now - member.heard;
    if (silence >= limit) return false;
    // Members that fall silent together send their last heartbeats within one heartbeat interval. Nodes
    // nearly over the limit of silence count as fading: otherwise the first silent node would count as the
    // only silent one.
    auto& places = silence > std::max(limit - heartbeat, heartbeat) ? sounds.fading : sounds.talking;
    places.emplace(member.place, member.zone);
    check_again_at(member.heard + limit, result);
    return true;
  });
}

// `quiet`: members that are still starting and have sent no message for the whole limit of silence.
void wait_for_starting(const Observation& seen, const std::vector<MemberSilence>& quiet, Duration limit,
                       Timestamp now, SilentMembers& result) {
  const Duration deadline = std::chrono::seconds(seen.job.spec.start_deadline_seconds);
  for (const auto& member : quiet) {
    const Timestamp lost_at = member.heard + std::max(deadline, limit);
    if (deadline > Duration(0) && lost_at <= now) {
      note_lost(member.member, result);
      continue;
    }
    check_again_at(now + std::chrono::seconds(seen.job.spec.disruption_policy.heartbeat_seconds), result);
    if (deadline > Duration(0)) check_again_at(lost_at, result);
  }
  // Any process that waits for a world may become quiet, even if it was in a world before. A new world with a
  // quiet process might lose that process at once.
  for (const auto& process : seen.processes) {
    if (!process.waiting) continue;
    const Timestamp quiet_at = std::max(process.last_heard, seen.listening_since) + limit;
    if (quiet_at <= now)
      result.quiet.push_back(process.identity);
    else
      check_again_at(quiet_at, result);
  }
}

}  // namespace

SilentMembers find_silent(const Observation& seen, Timestamp now) {
  const auto [limit, heartbeat] = rhythm_of(seen);
  SilentMembers result;
  Members members = find_members(seen, now);
  NodesByActivity sounds;
  sounds.completed = members.completed;
  sounds.zones_of_completed = std::move(members.zones_of_completed);
  keep_silent(members.heard, limit, heartbeat, now, sounds, result);
  NodesByActivity others;  // not used: members without messages do not show which nodes are alive
  keep_silent(members.unheard, limit, heartbeat, now, others, result);
  keep_silent(members.starting, limit, heartbeat, now, sounds, result);
  std::erase_if(sounds.fading, [&](const auto& place) { return sounds.talking.contains(place.first); });
  wait_for_starting(seen, members.starting, limit, now, result);
  Places quiet = places_of(members.starting);  // judged later; they send no heartbeats
  std::erase_if(quiet, [&](const auto& place) { return sounds.talking.contains(place.first); });
  // At least 2 nodes must be silent: one silent node, with all its members, is an ordinary loss.
  apply_failure_policy(members.heard, quiet, 2, sounds, limit, now, result);
  // The last check is of members that have never sent a message to this operator process, so that they do not
  // delay the decision about other members.
  quiet.merge(places_of(members.heard));
  const std::size_t everywhere_from = is_any_node_reported_lost(seen, members.unheard) ? 2 : 1;
  apply_failure_policy(members.unheard, quiet, everywhere_from, sounds, limit, now, result);
  return result;
}

Duration limit_of_silence(const Observation& seen) {
  return rhythm_of(seen).limit;
}

Observation without_joins_of(const std::vector<ProcessIdentity>& quiet, Observation seen) {
  for (auto& process : seen.processes)
    if (std::ranges::find(quiet, process.identity) != quiet.end()) process.waiting.reset();
  seen.quiet = quiet;
  return seen;
}

}  // namespace ratoon::core
