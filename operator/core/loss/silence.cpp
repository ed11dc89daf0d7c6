#include "operator/core/loss/silence.h"

#include <algorithm>
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

using NodeZones = std::map<std::string, std::string>;  // to the zone of each

struct MembersBySilence {
  std::vector<MemberSilence> heard;
  std::vector<MemberSilence> unheard;   // in a world that was formed before this operator began to listen
  std::vector<MemberSilence> starting;  // they have sent messages and were in no world yet
  std::vector<MemberSilence> ended;     // launchers whose programs have ended
  std::size_t completed = 0;            // also those in `ended`
  std::set<std::string> zones_of_completed;
};

struct MessageTimes {
  // When the process that has been silent for the longest time sent its last message, among the processes
  // that were in a world and have not completed.
  std::optional<Timestamp> quietest;
  std::optional<Timestamp> quietest_starting;  // the same among those that were in no world
  std::optional<Timestamp> newest;             // of any of its processes
  std::size_t count = 0;           // number of processes that have sent a message to this operator
  bool has_program_ended = false;  // a launcher reported the end of its program
};

bool is_starting(const Observation& seen, const api::ProcessFacts& process) {
  if (process.is_completed || process.has_been_in_world) return false;
  return find_assigned_process(seen, process.identity) == nullptr;
}

// `sits` is true if the member is or was in a world whose assignments this operator process does not know. If
// `sits` is true, each process of the member that does not ask to join counts as a process of this world.
MessageTimes message_times_of(const Observation& seen, const api::MemberStatus& member, const api::Pod& pod,
                              bool sits) {
  MessageTimes times;
  for (const auto* const of_member : processes_of(seen, member)) {
    const auto& process = *of_member;
    if (process.identity.member_uid != pod.uid) continue;
    ++times.count;
    times.newest = std::max(process.last_heard, times.newest.value_or(process.last_heard));
    times.has_program_ended |= process.beat && process.beat->program_exit_code;
    if (process.is_completed) continue;
    // If this operator does not know the world's assignments, an earlier leader may not have sent them all.
    // So a process that asks to join for the first time is still starting.
    const bool is_in_no_world = is_starting(seen, process) && (!sits || process.join_request);
    auto& quietest = is_in_no_world ? times.quietest_starting : times.quietest;
    quietest = std::min(process.last_heard, quietest.value_or(process.last_heard));
  }
  return times;
}

std::string zone_of(const Observation& seen, const std::string& name) {
  const auto node = std::ranges::find(seen.nodes, name, &api::Node::name);
  return node == seen.nodes.end() ? "" : node->zone;
}

MemberSilence make_member_silence(const Observation& seen, const api::MemberStatus& member,
                                  const api::Pod& pod, Timestamp heard) {
  return {.member = member,
          .heard = heard,
          .place = pod.node.empty() ? "pod " + pod.uid : "node " + pod.node,
          .zone = zone_of(seen, pod.node)};
}

// For a member that was in no world yet, returns since when its node has been silent. The evidence is a lost
// member on the same node or the platform's (late) report on the node. Returns a time only if the node is
// known to be lost, because on a live node the member may still be starting.
std::optional<Timestamp> find_lost_node(const Observation& seen, const api::MemberStatus& member,
                                        const api::Pod& pod, const MessageTimes& times, Timestamp now) {
  const bool is_lost = std::ranges::any_of(
      seen.nodes, [&](const api::Node& node) { return node.name == pod.node && node.is_lost; });
  const auto to_timestamp = [&](WallTime time) {
    return now - std::max(Duration(0), seen.wall_now.since_epoch - time.since_epoch);
  };
  // The platform's report may be older than the pod's place on the node.
  if (is_lost)
    return std::max(seen.listening_since,
                    pod.placed_at ? to_timestamp(*pod.placed_at) : seen.listening_since);
  const auto& suspects = seen.job.status.suspect_nodes;
  const auto suspect = std::ranges::find(suspects, pod.node, &api::SuspectNode::name);
  if (suspect == suspects.end() || suspect->is_unreachable) return std::nullopt;
  const WallTime since = suspected_since(seen, *suspect);
  // The scheduler placed the pod after the node fell silent: the node is probably back. If the node is
  // silent, the platform will report it.
  if (pod.placed_at > since) return std::nullopt;
  const Timestamp suspected_at = to_timestamp(since);
  // If this member started or sent a message after the lost member's last heartbeat, the node of both members
  // is alive.
  if (member.first_message_awaited_since > since || times.newest > suspected_at) return std::nullopt;
  return std::max(seen.listening_since, suspected_at);
}

MembersBySilence find_members(const Observation& seen, Timestamp now) {
  MembersBySilence found;
  // Returns true for a member that is or was in a world whose assignments this operator process does not
  // know: all processes of the member have sent messages, perhaps only to an earlier leader. Returns false
  // for a successor, because a successor may have sent no message yet.
  const auto sits = [&](const api::MemberStatus& member) {
    const bool has_met_world =
        seen.job.status.is_world_formed ? is_world_unknown(seen) : member.has_been_in_world;
    return has_met_world && !api::is_agentless(seen.job.spec) && !member.is_absent &&
           std::find(seen.job.status.members.begin(), seen.job.status.members.end(), member) !=
               seen.job.status.members.end();
  };
  const bool is_ending = has_made_last_step(seen);
  const auto desired = desired_members(seen.job);
  for (const auto& member : incarnations_with_successors(desired)) {
    const api::Pod* pod = find_pod(seen, member);
    if (is_completed(seen, member)) {
      ++found.completed;
      found.zones_of_completed.insert(zone_of(seen, pod == nullptr ? member.node : pod->node));
      continue;
    }
    if (pod == nullptr || pod->has_ended()) continue;
    if (pod->is_deleting && !is_in_grace_period(seen, *pod)) continue;
    const MessageTimes times = message_times_of(seen, member, *pod, sits(member));
    if (times.has_program_ended) {
      const Timestamp heard = std::max(*times.newest, seen.listening_since);
      found.ended.push_back(make_member_silence(seen, member, *pod, heard));
      ++found.completed;
      found.zones_of_completed.insert(zone_of(seen, pod->node));
      continue;
    }
    // A silent member may have completed just before the old leader ended without storing the completion.
    const bool may_be_done = is_ending && times.newest;
    const bool is_missed = sits(member) && times.count < seen.job.spec.processes_per_node && !may_be_done;
    const auto lost_since = times.quietest ? std::nullopt : find_lost_node(seen, member, *pod, times, now);
    if (is_missed || lost_since) {
      const Timestamp since = is_missed ? seen.listening_since : *lost_since;
      const Timestamp heard = times.quietest_starting.value_or(since);
      found.unheard.push_back(make_member_silence(seen, member, *pod, std::max(since, heard)));
      continue;
    }
    if (times.quietest)
      found.heard.push_back(
          make_member_silence(seen, member, *pod, std::max(*times.quietest, seen.listening_since)));
    if (times.quietest_starting) {
      const Timestamp heard = std::max(*times.quietest_starting, seen.listening_since);
      found.starting.push_back(make_member_silence(seen, member, *pod, heard));
    }
  }
  return found;
}

// How often members send heartbeats, and how long a member may be silent. If the job's spec changes, members
// of a world keep the heartbeat interval of their assignment.
struct SilenceLimits {
  Duration limit;
  Duration heartbeat;
};

SilenceLimits silence_limits_of(const Observation& seen) {
  constexpr int kBeatsMissed = 3;
  const auto& policy = seen.job.spec.disruption_policy;
  SilenceLimits limits{.limit = std::chrono::seconds(policy.suspect_after_seconds),
                       .heartbeat = std::chrono::seconds(policy.heartbeat_seconds)};
  if (seen.world.empty()) return limits;
  const Duration told = from_seconds(seen.world.front().assignment.beat_seconds);
  if (told > limits.heartbeat)
    limits = {.limit = std::max(limits.limit, told * kBeatsMissed), .heartbeat = told};
  return limits;
}

void schedule_check(Timestamp moment, SilentMembers& result) {
  result.next_check = std::min(moment, result.next_check.value_or(moment));
}

// Adds a member only once, even if it is lost for two reasons: for example, one of its processes is silent,
// and another one did not join again after its restart.
void add_lost_member(const api::MemberStatus& member, SilentMembers& result) {
  if (std::ranges::find(result.lost, member) == result.lost.end()) result.lost.push_back(member);
}

// The nodes of members, grouped by whether heartbeats arrive from them.
struct NodesByActivity {
  NodeZones talking;
  NodeZones fading;  // silent for less than the limit, but for longer than a live member normally is
  std::size_t completed = 0;
  std::set<std::string> zones_of_completed;
};

// A silence of many members at once. The limit for this silence is longer, because the network may be its
// cause.
struct MassSilence {
  bool is_everywhere = false;
  std::set<std::string> zones;

  [[nodiscard]] bool includes(const MemberSilence& member) const {
    return is_everywhere || zones.contains(member.zone);
  }
};

// Finds zones that are silent as a whole. Sets `is_everywhere` if most nodes, and at least `everywhere_from`
// nodes, are silent.
MassSilence find_mass_silence(NodeZones silent, std::size_t everywhere_from,
                              const NodesByActivity& activity) {
  silent.insert(activity.fading.begin(), activity.fading.end());
  MassSilence mass;
  mass.is_everywhere =
      silent.size() >= everywhere_from && silent.size() > activity.completed + activity.talking.size();
  std::map<std::string, std::size_t> places_in;
  for (const auto& [place, zone] : silent) ++places_in[zone];
  for (const auto& [place, zone] : activity.talking) places_in.erase(zone);
  for (const auto& zone : activity.zones_of_completed) places_in.erase(zone);
  for (const auto& [zone, places] : places_in)
    if (!zone.empty() && places > 1) mass.zones.insert(zone);
  return mass;
}

NodeZones node_zones_of(const std::vector<MemberSilence>& members) {
  NodeZones places;
  for (const auto& member : members) places.emplace(member.place, member.zone);
  return places;
}

// Returns whether the platform reports the node of any member in `unheard` as lost. If the platform reports
// none of these nodes as lost, the members may not have found this operator process yet. The address of a new
// leader may reach members seconds late, on one node or on many nodes.
bool is_any_node_reported_lost(const Observation& seen, const std::vector<MemberSilence>& unheard) {
  return std::ranges::any_of(unheard, [&](const MemberSilence& member) {
    return std::ranges::any_of(seen.nodes, [&](const api::Node& node) {
      return node.is_lost && member.place == "node " + node.name;
    });
  });
}

// Moves members that were silent for longer than `limit` from `silent` to `result.lost`. For a mass silence,
// the limit is `mass_limit`.
void apply_failure_policy(std::vector<MemberSilence>& silent, const NodeZones& silent_beside,
                          std::size_t everywhere_from, const NodesByActivity& activity, Duration limit,
                          Duration mass_limit, Timestamp now, SilentMembers& result) {
  // A member that was lost no longer counts as silent, so apply the rules again to the other silent members.
  for (bool is_settled = false; !is_settled;) {
    NodeZones places = node_zones_of(silent);
    places.insert(silent_beside.begin(), silent_beside.end());
    const MassSilence mass = find_mass_silence(std::move(places), everywhere_from, activity);
    const auto silence_limit_of = [&](const MemberSilence& member) {
      return mass.includes(member) ? mass_limit : limit;
    };
    is_settled = std::erase_if(silent, [&](const MemberSilence& member) {
                   if (now - member.heard < silence_limit_of(member)) return false;
                   add_lost_member(member.member, result);
                   return true;
                 }) == 0;
    if (!is_settled) continue;
    for (const auto& member : silent) schedule_check(member.heard + silence_limit_of(member), result);
  }
}

// Removes from `members` the members that were silent for less than the limit. Records the nodes of these
// members as active (talking) or nearly silent (fading), and the time of the next check.
void keep_silent_members(std::vector<MemberSilence>& members, Duration limit, Duration heartbeat,
                         Timestamp now, NodesByActivity& activity, SilentMembers& result) {
  std::erase_if(members, [&](const MemberSilence& member) {
    const Duration silence = now - member.heard;
    if (silence >= limit) return false;
    // Members that fall silent together send their last heartbeats within one heartbeat interval.
    // Nodes that are nearly over the limit of silence count as fading; otherwise the first node over the
    // limit would seem to be the only silent one.
    auto& places = silence > std::max(limit - heartbeat, heartbeat) ? activity.fading : activity.talking;
    places.emplace(member.place, member.zone);
    schedule_check(member.heard + limit, result);
    return true;
  });
}

// The members in `quiet` are still starting and have sent no message for the whole limit of silence. These
// members count as lost only after the job's start deadline.
void apply_start_deadline(const Observation& seen, const std::vector<MemberSilence>& quiet, Duration limit,
                          Timestamp now, SilentMembers& result) {
  const Duration deadline = std::chrono::seconds(seen.job.spec.start_deadline_seconds);
  for (const auto& member : quiet) {
    const Timestamp lost_at = member.heard + std::max(deadline, limit);
    if (deadline > Duration(0) && lost_at <= now) {
      add_lost_member(member.member, result);
      continue;
    }
    schedule_check(now + std::chrono::seconds(seen.job.spec.disruption_policy.heartbeat_seconds), result);
    if (deadline > Duration(0)) schedule_check(lost_at, result);
  }
  // Any process that waits for a world may count as quiet, even if it was in a world before. If a world is
  // formed with a quiet process, the world might lose that process at once.
  for (const auto& process : seen.processes) {
    if (!process.join_request) continue;
    const Timestamp quiet_at = std::max(process.last_heard, seen.listening_since) + limit;
    if (quiet_at <= now)
      result.quiet_processes.push_back(process.identity);
    else
      schedule_check(quiet_at, result);
  }
}

}  // namespace

SilentMembers find_silent_members(const Observation& seen, Timestamp now) {
  const auto [limit, heartbeat] = silence_limits_of(seen);
  SilentMembers result;
  MembersBySilence members = find_members(seen, now);
  NodesByActivity activity;
  activity.completed = members.completed;
  activity.zones_of_completed = std::move(members.zones_of_completed);
  keep_silent_members(members.heard, limit, heartbeat, now, activity, result);
  NodesByActivity others;  // not used: members without messages do not show which nodes are alive
  keep_silent_members(members.unheard, limit, heartbeat, now, others, result);
  keep_silent_members(members.starting, limit, heartbeat, now, activity, result);
  std::erase_if(activity.fading, [&](const auto& place) { return activity.talking.contains(place.first); });
  apply_start_deadline(seen, members.starting, limit, now, result);
  NodeZones quiet = node_zones_of(members.starting);  // judged later; they send no heartbeats
  std::erase_if(quiet, [&](const auto& place) { return activity.talking.contains(place.first); });
  const Duration mass_limit = limit * kMassSilenceFactor;
  // Launchers end soon after their programs, and only a pod's end says whether its member has completed. A
  // kubelet may report this end later than the limit of silence.
  for (const auto& member : members.ended) {
    if (now - member.heard >= mass_limit)
      add_lost_member(member.member, result);
    else
      schedule_check(member.heard + mass_limit, result);
  }
  // The programs of a world end at about the same time. So if one has ended, a silent member's program may
  // have ended, too, although its launcher could not report it.
  const bool may_have_ended = api::uses_launcher(seen.job.spec) && members.completed > 0;
  // A mass silence needs at least 2 silent nodes: one silent node, with all its members, is an ordinary loss.
  apply_failure_policy(members.heard, quiet, 2, activity, may_have_ended ? mass_limit : limit, mass_limit,
                       now, result);
  // Members that have never sent a message to this operator process are checked last, so that they
  // do not delay the decision about other members.
  quiet.merge(node_zones_of(members.heard));
  const std::size_t everywhere_from = is_any_node_reported_lost(seen, members.unheard) ? 2 : 1;
  apply_failure_policy(members.unheard, quiet, everywhere_from, activity, limit, mass_limit, now, result);
  return result;
}

Duration silence_limit(const Observation& seen) {
  return silence_limits_of(seen).limit;
}

Observation without_join_requests_of(const std::vector<ProcessIdentity>& quiet, Observation seen) {
  for (auto& process : seen.processes)
    if (std::ranges::find(quiet, process.identity) != quiet.end()) process.join_request.reset();
  seen.quiet_processes = quiet;
  return seen;
}

}  // namespace ratoon::core
