#include "operator/core/silence.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <string>

#include "operator/core/completion.h"
#include "operator/core/lookup.h"
#include "operator/core/roster.h"
#include "operator/core/suspects.h"

namespace ratoon::core {
namespace {

// An incarnation that has a living pod, and when the quietest of its processes was last heard.
struct Listened {
  api::MemberStatus member;
  Timestamp heard;
  std::string place;  // its node; where none is known, a place of its own
  std::string zone;   // of that node; empty: nobody says
};

using Places = std::map<std::string, std::string>;  // and the zone of each

struct Members {
  std::vector<Listened> heard;
  std::vector<Listened> unheard;   // of a world that was formed before we began to listen
  std::vector<Listened> starting;  // that have spoken and were in no world yet
  std::size_t completed = 0;
  std::set<std::string> zones_of_completed;
};

struct Voices {
  std::optional<Timestamp>
      quietest;  // when this one was heard, of those that were in a world and are not done
  std::optional<Timestamp> quietest_starting;  // and of those that were in none
  std::optional<Timestamp> newest;             // of any of its processes
  std::size_t count = 0;                       // of the processes that were ever heard, by any operator
};

bool is_starting(const Observation& seen, const api::ProcessFacts& process) {
  if (process.is_completed || process.has_met) return false;
  return find_seat(seen, process.identity) == nullptr;
}

// `sits`: in a world that was formed before we began to listen, so that none of them is starting.
Voices voices_of(const Observation& seen, const api::MemberStatus& member, const api::Pod& pod, bool sits) {
  Voices voices;
  std::uint64_t unheard_done = member.done;  // an operator before us heard them, and they have left
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

Listened listened(const Observation& seen, const api::MemberStatus& member, const api::Pod& pod,
                  Timestamp heard) {
  return {.member = member,
          .heard = heard,
          .place = pod.node.empty() ? "pod " + pod.uid : "node " + pod.node,
          .zone = zone_of(seen, pod.node)};
}

// Of a member that was in no world, what others on its node did counts, and the platform's word, which comes
// late: since when its silence does. Nothing: it may still be starting.
std::optional<Timestamp> find_lost_node(const Observation& seen, const api::MemberStatus& member,
                                        const api::Pod& pod, const Voices& voices, Timestamp now) {
  const bool is_lost = std::ranges::any_of(
      seen.nodes, [&](const api::Node& node) { return node.name == pod.node && node.is_lost; });
  if (is_lost) return seen.listening_since;
  const auto& suspects = seen.job.status.suspect_nodes;
  const auto suspect = std::ranges::find(suspects, pod.node, &api::SuspectNode::name);
  if (suspect == suspects.end()) return std::nullopt;
  const WallTime since = suspected_since(seen, *suspect);
  const Timestamp suspected_at = now - std::max(Duration(0), seen.wall_now.since_epoch - since.since_epoch);
  // A node that started it after that lives, and so does one from which it spoke after that: it was only the
  // neighbour that fell silent.
  if (member.awaited_since > since || voices.newest > suspected_at) return std::nullopt;
  return std::max(seen.listening_since, suspected_at);
}

Members find_members(const Observation& seen, Timestamp now) {
  Members found;
  const auto sits = [&](const api::MemberStatus& member) {  // a successor may not have spoken yet
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
    const Voices voices = voices_of(seen, member, *pod, sits(member));
    // The operator that heard it may have ended before that was stored. A process that fails ends its pod.
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

// How often members speak, and how long a silence is one. Those that sit in a world beat as they were told
// when they sat down, whatever the job says by now.
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

void look_again_at(Timestamp moment, Silence& result) {
  result.next_check = std::min(moment, result.next_check.value_or(moment));
}

// Of its processes one may be silent, and another one have started anew and never gone on.
void note_lost(const api::MemberStatus& member, Silence& result) {
  if (std::ranges::find(result.lost, member) == result.lost.end()) result.lost.push_back(member);
}

// Where members are, by what is heard from there.
struct Sounds {
  Places talking;
  Places fading;  // not silent for the limit yet, but for longer than anybody is who talks
  std::size_t completed = 0;
  std::set<std::string> zones_of_completed;
};

// Silences that are weighed together, and not each as a loss.
struct MassSilence {
  bool is_everywhere = false;
  std::set<std::string> zones;

  [[nodiscard]] bool includes(const Listened& member) const {
    return is_everywhere || zones.contains(member.zone);
  }
};

// `everywhere_from`: on so many nodes it is more than one loss.
MassSilence find_mass_silence(Places silent, std::size_t everywhere_from, const Sounds& sounds) {
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

Places places_of(const std::vector<Listened>& members) {
  Places places;
  for (const auto& member : members) places.emplace(member.place, member.zone);
  return places;
}

// Else that they have not found us yet is as likely for one node as for many: the way to a new leader may be
// seconds late.
bool is_told_lost(const Observation& seen, const std::vector<Listened>& unheard) {
  return std::ranges::any_of(unheard, [&](const Listened& member) {
    return std::ranges::any_of(seen.nodes, [&](const api::Node& node) {
      return node.is_lost && member.place == "node " + node.name;
    });
  });
}

// Takes those out of `silent` whose silence is long enough, given how many others talk.
void judge(std::vector<Listened>& silent, const Places& silent_beside, std::size_t everywhere_from,
           const Sounds& sounds, Duration limit, Timestamp now, Silence& result) {
  // Those that are judged lost are no part of the silence of the rest: judge again without them.
  for (bool is_settled = false; !is_settled;) {
    Places places = places_of(silent);
    places.insert(silent_beside.begin(), silent_beside.end());
    const MassSilence mass = find_mass_silence(std::move(places), everywhere_from, sounds);
    const auto patience_for = [&](const Listened& member) {
      return mass.includes(member) ? limit * kMassFactor : limit;
    };
    is_settled = std::erase_if(silent, [&](const Listened& member) {
                   if (now - member.heard < patience_for(member)) return false;
                   note_lost(member.member, result);
                   return true;
                 }) == 0;
    if (!is_settled) continue;
    for (const auto& member : silent) look_again_at(member.heard + patience_for(member), result);
  }
}

// Leaves those that have been silent for the limit; of the others, tells where they are and when to look
// again.
void set_aside_talking(std::vector<Listened>& members, Duration limit, Duration heartbeat, Timestamp now,
                       Sounds& sounds, Silence& result) {
  std::erase_if(members, [&](const Listened& member) {
    const Duration silence = now - member.heard;
    if (silence >= limit) return false;
    // Who fell silent together spoke last within one heartbeat of each other: the first of them is not judged
    // as if the others talked.
    auto& places = silence > std::max(limit - heartbeat, heartbeat) ? sounds.fading : sounds.talking;
    places.emplace(member.place, member.zone);
    look_again_at(member.heard + limit, result);
    return true;
  });
}

// `quiet`: those that are still starting, and have not been heard for the limit.
void wait_for_starting(const Observation& seen, const std::vector<Listened>& quiet, Duration limit,
                       Timestamp now, Silence& result) {
  const Duration deadline = std::chrono::seconds(seen.job.spec.start_deadline_seconds);
  for (const auto& member : quiet) {
    const Timestamp lost_at = member.heard + std::max(deadline, limit);
    if (deadline > Duration(0) && lost_at <= now) {
      note_lost(member.member, result);
      continue;
    }
    look_again_at(now + std::chrono::seconds(seen.job.spec.disruption_policy.heartbeat_seconds), result);
    if (deadline > Duration(0)) look_again_at(lost_at, result);
  }
  // Of a member's processes each becomes quiet by itself. One that was in a world and waits for the next may
  // be held by the silence of many: a world with it would lose it at once.
  for (const auto& process : seen.processes) {
    if (!process.waiting) continue;
    const Timestamp quiet_at = std::max(process.last_heard, seen.listening_since) + limit;
    if (quiet_at <= now)
      result.quiet.push_back(process.identity);
    else
      look_again_at(quiet_at, result);
  }
}

}  // namespace

Silence find_silent(const Observation& seen, Timestamp now) {
  const auto [limit, heartbeat] = rhythm_of(seen);
  Silence result;
  Members members = find_members(seen, now);
  Sounds sounds;
  sounds.completed = members.completed;
  sounds.zones_of_completed = std::move(members.zones_of_completed);
  set_aside_talking(members.heard, limit, heartbeat, now, sounds, result);
  Sounds others;  // whom nobody heard is in no place where somebody talks or falls silent
  set_aside_talking(members.unheard, limit, heartbeat, now, others, result);
  set_aside_talking(members.starting, limit, heartbeat, now, sounds, result);
  std::erase_if(sounds.fading, [&](const auto& place) { return sounds.talking.contains(place.first); });
  wait_for_starting(seen, members.starting, limit, now, result);
  Places quiet = places_of(members.starting);  // they are not judged so soon, and do not talk
  std::erase_if(quiet, [&](const auto& place) { return sounds.talking.contains(place.first); });
  // One node that falls silent with all its members is one loss.
  judge(members.heard, quiet, 2, sounds, limit, now, result);
  // Whom nobody heard since we began to listen is judged last, so that it never delays the loss of others.
  quiet.merge(places_of(members.heard));
  const std::size_t everywhere_from = is_told_lost(seen, members.unheard) ? 2 : 1;
  judge(members.unheard, quiet, everywhere_from, sounds, limit, now, result);
  return result;
}

Observation without_joins_of(const std::vector<ProcessIdentity>& quiet, Observation seen) {
  for (auto& process : seen.processes)
    if (std::ranges::find(quiet, process.identity) != quiet.end()) process.waiting.reset();
  seen.quiet = quiet;
  return seen;
}

}  // namespace ratoon::core
