#include "operator/core/silence.h"

#include <algorithm>
#include <set>
#include <string>

#include "operator/core/roster.h"
#include "operator/core/suspects.h"

namespace ratoon::core {
namespace {

constexpr int kMassFactor = 10;

// An incarnation that has a living pod, and when the quietest of its processes was last heard.
struct Listened {
  api::MemberStatus member;
  Timestamp heard;
  std::string place;  // its node; where none is known, a place of its own
};

struct Members {
  std::vector<Listened> heard;
  std::vector<Listened> unheard;  // of a world that was formed before we began to listen
  std::size_t completed = 0;
};

struct Voices {
  std::optional<Timestamp> quietest;  // when this one was heard, of those that have not completed
  std::size_t count = 0;              // of the processes that were ever heard
};

Voices voices_of(const Observation& seen, const api::Pod& pod) {
  Voices voices;
  for (const auto& process : seen.processes) {
    if (process.identity.member_uid != pod.uid) continue;
    ++voices.count;
    if (!process.is_completed)
      voices.quietest = std::min(process.last_heard, voices.quietest.value_or(process.last_heard));
  }
  return voices;
}

std::string place_of(const api::Pod& pod) {
  return pod.node.empty() ? "pod " + pod.uid : "node " + pod.node;
}

// For who never spoke, what others on its node did counts, and the platform's word, which comes late: since
// when its silence does. Nothing: it may still be starting.
std::optional<Timestamp> find_lost_node(const Observation& seen, const api::MemberStatus& member,
                                        const api::Pod& pod, Timestamp now) {
  const bool is_lost = std::ranges::any_of(
      seen.nodes, [&](const api::Node& node) { return node.name == pod.node && node.is_lost; });
  if (is_lost) return seen.listening_since;
  const auto& suspects = seen.job.status.suspect_nodes;
  const auto suspect = std::ranges::find(suspects, pod.node, &api::SuspectNode::name);
  if (suspect == suspects.end()) return std::nullopt;
  const WallTime since = suspected_since(seen, *suspect);
  // A node that started it after that lives: it was only the neighbour that fell silent.
  if (member.awaited_since > since) return std::nullopt;
  const Duration ago = std::max(Duration(0), seen.wall_now.since_epoch - since.since_epoch);
  return std::max(seen.listening_since, now - ago);
}

Members find_members(const Observation& seen, Timestamp now) {
  Members found;
  const auto sits = [&](const api::MemberStatus& member) {  // a successor may not have spoken yet
    return is_world_forgotten(seen) && !api::is_group(seen.job.spec) && !member.is_absent &&
           std::find(seen.job.status.members.begin(), seen.job.status.members.end(), member) !=
               seen.job.status.members.end();
  };
  const auto desired = desired_members(seen.job);
  for (const auto& member : named_incarnations(desired)) {
    if (is_completed(seen, member)) ++found.completed;
    const api::Pod* pod = find_pod(seen, member);
    if (pod == nullptr || pod->has_ended() || is_completed(seen, member)) continue;
    if (pod->is_deleting && !has_time_left(seen, *pod)) continue;
    const Voices voices = voices_of(seen, *pod);
    const bool is_missed = sits(member) && voices.count < seen.job.spec.processes_per_node;
    const auto lost_since = voices.quietest ? std::nullopt : find_lost_node(seen, member, *pod, now);
    if (is_missed || lost_since) {
      const Timestamp since = is_missed ? seen.listening_since : *lost_since;
      found.unheard.push_back({member, since, place_of(*pod)});
    } else if (voices.quietest) {
      found.heard.push_back({member, std::max(*voices.quietest, seen.listening_since), place_of(*pod)});
    }
  }
  return found;
}

std::set<std::string> places_of(const std::vector<Listened>& members) {
  std::set<std::string> places;
  for (const auto& member : members) places.insert(member.place);
  return places;
}

void look_again_at(Timestamp moment, Silence& result) {
  result.next_check = std::min(moment, result.next_check.value_or(moment));
}

// Takes those out of `silent` whose silence is long enough, given how many others talk.
void judge(std::vector<Listened>& silent, std::size_t silent_beside, std::size_t others, Duration limit,
           Timestamp now, Silence& result) {
  // Those that are judged lost are no part of the silence of the rest: judge again without them.
  for (bool is_settled = false; !is_settled;) {
    // One node that falls silent with all its members is one loss.
    const std::size_t all = places_of(silent).size() + silent_beside;
    const bool is_mass_silence = all > 1 && all > others;
    const Duration patience = is_mass_silence ? limit * kMassFactor : limit;
    is_settled = std::erase_if(silent, [&](const Listened& member) {
                   if (now - member.heard < patience) return false;
                   result.lost.push_back(member.member);
                   return true;
                 }) == 0;
    if (!is_settled) continue;
    for (const auto& member : silent) look_again_at(member.heard + patience, result);
  }
}

// Leaves those that have been silent for the limit; of the others, tells their places and when to look again.
std::set<std::string> set_aside_talking(std::vector<Listened>& members, Duration limit, Timestamp now,
                                        Silence& result) {
  std::set<std::string> places;
  std::erase_if(members, [&](const Listened& member) {
    if (now - member.heard >= limit) return false;
    places.insert(member.place);
    look_again_at(member.heard + limit, result);
    return true;
  });
  return places;
}

}  // namespace

Silence find_silent(const Observation& seen, Timestamp now) {
  const Duration limit = std::chrono::seconds(seen.job.spec.disruption_policy.suspect_after_seconds);
  Silence result;
  Members members = find_members(seen, now);
  const std::size_t others = members.completed + set_aside_talking(members.heard, limit, now, result).size();
  static_cast<void>(set_aside_talking(members.unheard, limit, now, result));
  judge(members.heard, 0, others, limit, now, result);
  // Whom nobody heard since we began to listen is judged last, so that it never delays the loss of others.
  judge(members.unheard, places_of(members.heard).size(), others, limit, now, result);
  return result;
}

}  // namespace ratoon::core
