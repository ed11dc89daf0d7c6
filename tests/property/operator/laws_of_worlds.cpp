// Laws about worlds: when one is given up, who sits in the next one, where its members may be, what it cost.
#include <algorithm>

#include <gtest/gtest.h>

#include "operator/core/notice.h"
#include "operator/core/suspend.h"
#include "tests/property/operator/laws.h"

namespace ratoon::sim {
namespace {

using core::Decision;
using core::Observation;

// Of those that the job may resume.
Lineage newest_in(const Observation& seen, const std::vector<api::Seat>& world, Attempt not_own) {
  Lineage newest;
  for (const auto& process : seen.processes) {
    const bool sits =
        std::any_of(world.begin(), world.end(), [&](const auto& s) { return s.process == process.identity; });
    if (!sits || !process.waiting) continue;
    for (const auto& entry : process.waiting->inventory)
      if (entry.attempt > not_own) newest = std::max(newest, Lineage{entry.attempt, entry.step});
  }
  return newest;
}

// Read here once more, since who may sit is what all else rests on.
bool sits_for(const ProcessIdentity& process, const api::MemberStatus& member) {
  return process.role == member.role && process.index == member.index &&
         process.incarnation == member.incarnation && process.member_uid == member.uid;
}

// Until when its pod may train on, if it is being deleted and sits.
std::optional<WallTime> granted_until(const Observation& seen, const api::MemberStatus& member) {
  const auto& before = seen.job.status;
  const auto* sitting = find_member(before, member);
  if (!before.is_formed || sitting == nullptr || sitting->is_absent) return std::nullopt;
  for (const auto& pod : seen.pods) {
    const bool is_its_own = pod.uid == sitting->uid && name_of(member) == pod.name;
    if (is_its_own && pod.is_deleting && !pod.has_ended() && pod.ends_at > seen.wall_now) return pod.ends_at;
  }
  return std::nullopt;
}

// Who is to go speaks for nobody, but for one whose pod is deleted with grace and trains on.
bool is_listened_to(const Observation& seen, const api::Pod& pod) {
  const auto desired = core::desired_members(seen.job);
  if (pod.has_ended() || !core::is_named(pod, desired)) return false;
  if (!pod.is_deleting) return true;
  return std::ranges::any_of(desired, [&](const auto& member) {
    return member.uid == pod.uid && granted_until(seen, member).has_value();
  });
}

}  // namespace

// Losing the operator, or its memory, is no reason.
void Laws::check_given_up(const Observation& seen, const Decision& decision) const {
  const auto& before = seen.job.status;
  if (!before.is_formed || decision.status.attempt == before.attempt) return;
  if (decision.status.phase == api::JobPhase::kSuspended && seen.wall_now >= core::end_of_draining(before))
    return;
  if (decision.status.restarts.hung > before.restarts.hung) return;             // check_hung() has the law
  if (core::desired_members(seen.job).size() != before.members.size()) return;  // another size is wanted
  const auto lost = lost_in(decision);
  EXPECT_TRUE(std::any_of(before.members.begin(), before.members.end(),
                          [&](const auto& member) {
                            if (member.is_absent) return false;  // it was never in it
                            return lost.contains(name_of(member)) || !world_.is_whole(member, before.attempt);
                          }))
      << "attempt " << before.attempt.value() << " was given up for no reason\n"
      << world_.describe();
}

// Whoever waits for one that hangs, for one that is gone or for the network is not taken for it. In a
// collective it is not known who keeps the others waiting: whoever came less far may be one of them.
void Laws::check_hung(const Observation& seen, const Decision& decision) const {
  const auto& before = seen.job.status;
  const std::uint32_t found = decision.status.restarts.hung - before.restarts.hung;
  EXPECT_LE(found, 1U) << "one hang at a time";
  if (found == 0) return;
  ++tally_.hangs;
  EXPECT_TRUE(world_.has_hung(before.attempt)) << "nobody hangs in attempt " << before.attempt.value() << "\n"
                                               << world_.describe();
  for (const auto& member : before.members) {
    const std::string hangs = name_of(member) + ": hung: ";
    const bool is_blamed =
        std::any_of(decision.actions.begin(), decision.actions.end(), [&](const auto& action) {
          const auto* event = std::get_if<core::EmitEvent>(&action);
          return event != nullptr && event->message.starts_with(hangs) &&
                 event->message.find(" in collective ") == std::string::npos;
        });
    EXPECT_TRUE(!is_blamed || world_.has_hung(before.attempt, member.uid))
        << name_of(member) << " is taken for another that hangs";
  }
}

void Laws::check_placement(const Observation& seen, const Decision& decision) const {
  std::set<std::string> expected;
  for (const auto& suspect : decision.status.suspect_nodes) {
    EXPECT_GT(suspect.until, seen.wall_now) << "its time is up";
    expected.insert(suspect.name);
  }
  for (const auto& node : seen.nodes)
    if (!core::find_notice(node, seen.job.spec.disruption_policy).empty()) expected.insert(node.name);
  for (const auto& action : decision.actions) {
    const auto* create = std::get_if<core::CreatePod>(&action);
    if (create == nullptr) continue;
    EXPECT_EQ(std::set<std::string>(create->avoid_nodes.begin(), create->avoid_nodes.end()), expected);
    for (const auto& name : create->sick_nodes) {
      const auto node = std::ranges::find(decision.status.failed_nodes, name, &api::FailedNode::name);
      ASSERT_NE(node, decision.status.failed_nodes.end());
      EXPECT_GE(node->failures, 2U) << name << " is held to be sick";
    }
  }
  if (seen.job.spec.disruption_policy.avoid_node_seconds == 0) return;
  for (const auto& action : decision.actions) {
    const auto* event = std::get_if<core::EmitEvent>(&action);
    if (event == nullptr || !event->message.ends_with(": silent for too long")) continue;
    const std::string name = event->message.substr(0, event->message.find(": "));
    for (const auto& pod : seen.pods) {
      if (pod.name != name) continue;
      EXPECT_TRUE(pod.node.empty() || expected.contains(pod.node)) << name << " fell silent on " << pod.node;
    }
  }
}

// Nobody of a zone in which all nodes of the job fell silent is lost as if it were one of them.
void Laws::check_silent(const Observation& seen, const Decision& decision) const {
  const auto& policy = seen.job.spec.disruption_policy;
  const Duration limit = std::chrono::seconds(policy.suspect_after_seconds);
  const Duration heartbeat = std::chrono::seconds(policy.heartbeat_seconds);
  const Duration talking = std::max(limit - heartbeat, heartbeat);
  struct Zone {
    std::set<std::string> silent;           // nodes
    std::map<std::string, Duration> since;  // by pod
    bool talks = false;
  };
  std::map<std::string, Zone> zones;
  const auto is_done = [&](const api::Pod& pod) {
    return std::ranges::any_of(decision.status.members,
                               [&](const auto& m) { return m.is_completed && m.uid == pod.uid; });
  };
  for (const auto& pod : seen.pods) {
    const auto node = std::ranges::find(seen.nodes, pod.node, &api::Node::name);
    if (node == seen.nodes.end() || node->zone.empty()) continue;
    Zone& zone = zones[node->zone];
    zone.talks |= is_done(pod);
    std::optional<Duration> silence;
    std::uint32_t voices = 0;
    for (const auto& process : seen.processes) {
      if (process.identity.member_uid != pod.uid) continue;
      ++voices;
      zone.talks |= process.is_completed;
      const Duration passed = world_.now() - std::max(process.last_heard, seen.listening_since);
      silence = std::max(passed, silence.value_or(passed));
    }
    if (!silence || !is_listened_to(seen, pod)) continue;
    if (*silence <= talking) zone.talks = true;
    // Who was never heard is judged after the others, and delays nobody's loss.
    if (voices < seen.job.spec.processes_per_node) continue;
    if (*silence > talking && *silence < limit * 10) zone.silent.insert(pod.node);
    zone.since[pod.name] = *silence;
  }
  for (const auto& [name, zone] : zones) {
    if (zone.talks || zone.silent.size() < 2) continue;
    ++tally_.held;
    for (const auto& action : decision.actions) {
      const auto* event = std::get_if<core::EmitEvent>(&action);
      if (event == nullptr || !event->message.ends_with(": silent for too long")) continue;
      const auto since = zone.since.find(event->message.substr(0, event->message.find(": ")));
      EXPECT_TRUE(since == zone.since.end() || since->second >= limit * 10)
          << event->message << ", and with it all of " << name << "\n"
          << world_.describe();
    }
  }
}

// Once a node's end is known it is not put off, and those on the node are told. So are those whose pod is
// deleted with grace, and they are no loss before it is over.
void Laws::check_departures(const Observation& seen, const Decision& decision) const {
  std::vector<api::Departure> expected;
  for (const auto& member : decision.status.members) {
    const auto granted = granted_until(seen, member);
    if (member.is_completed || (!member.node_ends_at && !granted)) continue;
    expected.push_back(
        {.role = member.role,
         .index = member.index,
         .incarnation = member.incarnation,
         .at = !granted ? *member.node_ends_at : std::min(*granted, member.node_ends_at.value_or(*granted))});
    for (const auto& before : seen.job.status.members) {
      const bool is_same = name_of(before) == name_of(member) && before.node == member.node;
      EXPECT_TRUE(!is_same || !member.node_ends_at || !before.node_ends_at ||
                  *member.node_ends_at <= *before.node_ends_at)
          << name_of(member) << " was promised more time";
    }
  }
  for (const auto& member : seen.job.status.members) {
    const std::string deleted = name_of(member) + ": deleted";
    const bool is_lost =
        std::any_of(decision.actions.begin(), decision.actions.end(), [&](const auto& action) {
          const auto* event = std::get_if<core::EmitEvent>(&action);
          return event != nullptr && event->reason == "MemberLost" && event->message == deleted;
        });
    EXPECT_FALSE(is_lost && granted_until(seen, member)) << name_of(member) << " had time left";
  }
  if (decision.announcement.stop) return;
  EXPECT_EQ(decision.announcement.departures, expected);
}

// A member and its successor, and nobody else, may speak.
void Laws::check_current(const Decision& decision) const {
  std::set<std::tuple<std::string, std::uint32_t, std::uint32_t>> told;
  for (const auto& current : decision.announcement.current)
    EXPECT_TRUE(told.emplace(current.role, current.index, current.incarnation).second);
  std::set<std::tuple<std::string, std::uint32_t, std::uint32_t>> named;
  for (const auto& member : decision.status.members) {
    named.emplace(member.role, member.index, member.incarnation);
    if (member.is_leaving()) named.emplace(member.role, member.index, member.successor);
  }
  EXPECT_EQ(told, named);
}

void Laws::check_world(const Observation& seen, const Decision& decision) {
  const auto& world = decision.announcement.world;
  if (world.empty()) return;
  std::set<std::uint32_t> ranks;
  std::set<std::tuple<std::string, std::uint32_t, std::uint32_t>> places;
  for (const auto& seat : world) {
    ranks.insert(seat.assignment.rank.value());
    EXPECT_EQ(seat.assignment.attempt, decision.status.attempt);
    EXPECT_EQ(seat.assignment.world_size, world.size());
    EXPECT_EQ(seat.assignment.resume, world.front().assignment.resume) << "one resume point for all";
    EXPECT_TRUE(places.emplace(seat.process.role, seat.process.index, seat.process.local_rank).second)
        << "two sit for one";
    const auto& members = decision.status.members;
    EXPECT_TRUE(std::any_of(members.begin(), members.end(), [&](const auto& member) {
      return sits_for(seat.process, member);
    })) << "a superseded process has a seat";
  }
  EXPECT_EQ(ranks.size(), world.size());
  check_size(seen, decision);
  EXPECT_EQ(*ranks.rbegin() + 1, world.size());
  if (seen.job.status.is_formed && seen.job.status.attempt == decision.status.attempt) return;

  // A new world.
  const auto& resume = world.front().assignment.resume;
  const Lineage from = resume ? Lineage{resume->attempt, resume->step} : Lineage{};
  EXPECT_TRUE(!resume || world_.checkpoints().contains(from)) << "resumes from what was never committed";
  const Attempt not_own(world_.scenario().begins_anew ? world_.scenario().former_attempt : 0);
  EXPECT_TRUE(!resume || resume->attempt > not_own) << "it was to begin anew";
  EXPECT_GE(from, newest_in(seen, world, not_own)) << "a newer lineage was at hand";
  EXPECT_GE(from, resumed_) << "the run went backwards";
  if (const auto& last = decision.status.last_checkpoint) {
    EXPECT_GE(from, (Lineage{last->attempt, last->step})) << "what was reported durable is lost";
  }
  resumed_ = from;
}

// Whoever has no seat is done or was left out, and enough sit.
void Laws::check_size(const Observation& seen, const Decision& decision) const {
  std::map<std::string, std::uint32_t> seated;
  for (const auto& member : decision.status.members) {
    const bool sits = std::any_of(decision.announcement.world.begin(), decision.announcement.world.end(),
                                  [&](const auto& seat) { return sits_for(seat.process, member); });
    EXPECT_FALSE(sits && member.is_absent) << name_of(member) << " sits and is said to be absent";
    EXPECT_TRUE(sits || member.is_absent || member.is_completed) << name_of(member) << " has no seat";
    if (!member.is_absent) ++seated[member.role];
  }
  const auto& spec = seen.job.spec;
  if (spec.is_suspended) return;  // it still saves; the size that it is given meanwhile is the next world's
  EXPECT_GE(seated[kWorker], spec.elastic_policy ? spec.elastic_policy->members_min : spec.num_nodes)
      << "a world that is too small";
  EXPECT_LE(seated[kWorker],
            std::max(spec.num_nodes, spec.elastic_policy ? spec.elastic_policy->members_max : 0))
      << "a world that is too large";
  if (spec.elastic_policy && seated[kWorker] > spec.num_nodes) ++tally_.larger_worlds;
  EXPECT_EQ(seated[kHelper], world_.scenario().policies.helpers);
}

void Laws::check_account(const Decision& decision) const {
  const auto& done = *decision.status.last_disruption;
  const auto& p = done.phases;
  for (const double phase : {p.detect_seconds, p.decide_seconds, p.place_seconds, p.start_seconds,
                             p.rendezvous_seconds, p.load_seconds, p.first_step_seconds})
    EXPECT_GE(phase, 0);
  const double since_noticed = seconds(world_.wall_now().since_epoch - done.time.since_epoch);
  EXPECT_NEAR(p.total_seconds(), p.detect_seconds + since_noticed, 1e-6)
      << "the phases do not add up to the time that passed";
}

}  // namespace ratoon::sim
