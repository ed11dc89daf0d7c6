// Laws about worlds: the end of a world, the seats of the next one, the places of its members, the cost.
#include <algorithm>
#include <chrono>

#include <gtest/gtest.h>

#include "tests/property/operator/laws.h"
#include "tests/property/operator/recount.h"
#include "tests/support/operator_builders.h"

namespace ratoon::sim {
namespace {

using core::Decision;
using core::Observation;

// The time until which the pod may train on, if it is being deleted and has a seat.
std::optional<WallTime> granted_until(const Observation& seen, const api::MemberStatus& member) {
  const auto& before = seen.job.status;
  const auto* sitting = find_member(before, member);
  if (!before.is_world_formed || sitting == nullptr || sitting->is_absent) return std::nullopt;
  for (const auto& pod : seen.pods) {
    const bool is_its_own = pod.uid == sitting->uid && name_of(member) == pod.name;
    if (is_its_own && pod.is_deleting && !pod.has_ended() && pod.ends_at > seen.wall_now) return pod.ends_at;
  }
  return std::nullopt;
}

// A member that is to go is ignored, except a member whose pod is deleted with grace and trains on.
bool is_listened_to(const Observation& seen, const api::Pod& pod) {
  const auto desired = members_of(seen.job);
  const auto named = incarnations_of(desired);
  const bool is_in_roster = std::ranges::any_of(named, [&](const auto& member) {
    return pod.name == name_of(member) && (member.uid.empty() || member.uid == pod.uid);
  });
  if (pod.has_ended() || !is_in_roster) return false;
  if (!pod.is_deleting) return true;
  return std::ranges::any_of(desired, [&](const auto& member) {
    return member.uid == pod.uid && granted_until(seen, member).has_value();
  });
}

}  // namespace

// The loss of the operator, or of its memory, is no reason.
void Laws::check_given_up(const Observation& seen, const Decision& decision) const {
  const auto& before = seen.job.status;
  if (!before.is_world_formed || decision.status.attempt == before.attempt) return;
  const bool is_saved_in_vain = is_all_heard(seen, before) && seen.wall_now >= end_of_saving(seen, before);
  if (seen.job.spec.is_suspended && is_saved_in_vain) return;
  if (decision.status.restarts.hung > before.restarts.hung) return;  // check_hung() has the law
  if (members_of(seen.job).size() != before.members.size()) return;  // another size is wanted
  const auto lost = lost_in(decision);
  EXPECT_TRUE(std::any_of(before.members.begin(), before.members.end(),
                          [&](const auto& member) {
                            if (member.is_absent) return false;  // it was never in it
                            return lost.contains(name_of(member)) || !world_.is_whole(member, before.attempt);
                          }))
      << "attempt " << before.attempt.value() << " was given up for no reason\n"
      << world_.describe();
}

// A process that waits for a hung one, for a vanished one or for the network is not mistaken for it. In a
// collective it is not known which process keeps the others waiting: any process with less progress may be
// one of them.
void Laws::check_hung(const Observation& seen, const Decision& decision) const {
  const auto& before = seen.job.status;
  const std::uint32_t found = decision.status.restarts.hung - before.restarts.hung;
  EXPECT_LE(found, 1U) << "one hang at a time";
  if (found == 0) return;
  ++tally_.hangs;
  EXPECT_TRUE(world_.has_hung(before.attempt))
      << "no member hangs in attempt " << before.attempt.value() << "\n"
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
    if (world_.is_noticed(node.name)) expected.insert(node.name);
  check_suspects(seen, decision);
  for (const auto& action : decision.actions) {
    const auto* create = std::get_if<core::CreatePod>(&action);
    if (create == nullptr) continue;
    const auto avoided = test::names_of(create->avoid_nodes);
    EXPECT_EQ(std::set<std::string>(avoided.begin(), avoided.end()), expected);
    for (const auto& node : create->avoid_nodes) check_avoided(seen, decision, node);
    for (const auto& name : create->faulty_nodes) {
      const auto node = std::ranges::find(decision.status.failed_nodes, name, &api::FailedNode::name);
      ASSERT_NE(node, decision.status.failed_nodes.end());
      EXPECT_GE(node->failures, 2U) << name << " is held to be sick";
    }
  }
  if (seen.job.spec.disruption_policy.avoid_node_seconds == 0) return;
  check_devices(seen, decision);
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

// All pods on the node that a scheduler still counts keep the new pod off it. No taint tells the scheduler of
// a suspect.
void Laws::check_avoided(const Observation& seen, const Decision& decision, const api::NodeToAvoid& node) {
  std::size_t there = 0;
  for (const auto& pod : seen.pods) {
    if (pod.node != node.name || (pod.has_ended() && !pod.has_running_sidecars)) continue;
    ++there;
    const api::MemberPodKey key{.role = pod.role, .index = pod.index, .incarnation = pod.incarnation};
    EXPECT_NE(std::ranges::find(node.pods, key), node.pods.end()) << pod.name << " does not exclude its node";
  }
  EXPECT_EQ(node.pods.size(), there) << node.name;
  const auto& suspects = decision.status.suspect_nodes;
  if (std::ranges::find(suspects, node.name, &api::SuspectNode::name) != suspects.end()) {
    EXPECT_TRUE(node.scheduler_avoided_taints.empty())
        << node.name << " is left to a taint that may never come";
  }
}

// A node whose accelerator a member calls unusable is reported and sick from that moment on.
void Laws::check_devices(const Observation& seen, const Decision& decision) const {
  std::set<std::string> told;
  std::set<std::string> expected;
  for (const auto& action : decision.actions) {
    const auto* event = std::get_if<core::EmitEvent>(&action);
    if (event == nullptr) continue;
    const std::string name = event->message.substr(0, event->message.find(": "));
    if (event->reason == "DeviceUnusable") told.insert(name);
    if (event->reason != "MemberLost" || !event->message.starts_with(name + ": exit code 85")) continue;
    for (const auto& pod : seen.pods)
      if (pod.name == name && !pod.node.empty()) expected.insert(pod.node);
  }
  EXPECT_EQ(told, expected) << "other nodes are told of than those whose accelerator is unusable";
  const auto counts_as_sick = [&](const std::string& name) {
    return std::ranges::any_of(decision.status.failed_nodes, [&](const api::FailedNode& node) {
      const Duration age = seen.wall_now.since_epoch - node.time.since_epoch;
      return node.name == name && node.failures >= 2 && age < std::chrono::hours(1);
    });
  };
  for (const auto& name : expected) {
    EXPECT_TRUE(counts_as_sick(name)) << name << " has an unusable accelerator and is not sick";
    for (const auto& action : decision.actions) {
      const auto* create = std::get_if<core::CreatePod>(&action);
      if (create == nullptr) continue;
      EXPECT_NE(std::ranges::find(create->faulty_nodes, name), create->faulty_nodes.end())
          << create->pod.name << " may go to " << name << ", which has an unusable accelerator";
    }
  }
}

// The nodes on which a member fell silent or had no connection to others, each for its time and no longer.
void Laws::check_suspects(const Observation& seen, const Decision& decision) const {
  const auto pause = seen.job.spec.disruption_policy.avoid_node_seconds;
  std::set<std::string> expected;
  for (const auto& suspect : seen.job.status.suspect_nodes)
    if (suspect.until > seen.wall_now) expected.insert(suspect.name);
  for (const auto& action : decision.actions) {
    const auto* event = std::get_if<core::EmitEvent>(&action);
    if (event == nullptr || pause == 0) continue;
    if (!event->message.ends_with(": silent for too long") && !is_unreachable(*event)) continue;
    const std::string name = event->message.substr(0, event->message.find(": "));
    for (const auto& pod : seen.pods)
      if (pod.name == name && !pod.node.empty()) expected.insert(pod.node);
  }
  std::set<std::string> suspected;
  for (const auto& suspect : decision.status.suspect_nodes) suspected.insert(suspect.name);
  EXPECT_EQ(suspected, expected) << "other nodes are suspected than those that fell silent or were cut off";
}

// Only a process that is starting has the start deadline: a process that waits tells every operator that it
// was in a world.
void Laws::check_starting(const Observation& seen) const {
  for (const auto& process : seen.processes) {
    if (!process.join_request) continue;
    EXPECT_TRUE(process.has_been_in_world || !world_.has_been_in_world(process.identity))
        << process.identity.member_uid << " was in a world and counts as starting\n"
        << world_.describe();
  }
}

// No member of a zone in which all nodes of the job fell silent is lost as if it were a single loss.
void Laws::check_silent(const Observation& seen, const Decision& decision) const {
  const auto& policy = seen.job.spec.disruption_policy;
  const Duration limit = std::chrono::seconds(policy.suspect_after_seconds);
  const Duration heartbeat = std::chrono::seconds(policy.heartbeat_seconds);
  const Duration talking = std::max(limit - heartbeat, heartbeat);
  const Duration start_deadline = std::chrono::seconds(seen.job.spec.start_deadline_seconds);
  struct Zone {
    std::set<std::string> silent;           // nodes
    std::map<std::string, Duration> since;  // by pod
    std::set<std::string> late;             // pods that met no world before their start deadline
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
    // The quietest process of the processes that were in a world, and of the processes that still start.
    std::optional<Duration> silence;
    std::optional<Duration> start_silence;
    std::uint32_t voices = 0;
    for (const auto& process : seen.processes) {
      if (process.identity.member_uid != pod.uid) continue;
      ++voices;
      zone.talks |= process.is_completed;
      const Duration passed = world_.now() - std::max(process.last_heard, seen.listening_since);
      const bool is_starting =
          !process.is_completed && !process.has_been_in_world &&
          std::ranges::find(seen.world, process.identity, &api::AssignedProcess::process) == seen.world.end();
      auto& quietest = is_starting ? start_silence : silence;
      quietest = std::max(passed, quietest.value_or(passed));
    }
    if ((!silence && !start_silence) || !is_listened_to(seen, pod)) continue;
    for (const auto& quietest : {silence, start_silence}) zone.talks |= quietest && *quietest <= talking;
    // A pod that never sent a message, or only starts on a node with known trouble, is judged after the
    // others and delays no loss of theirs.
    const bool is_in_trouble =
        node->is_lost || std::ranges::find(seen.job.status.suspect_nodes, pod.node,
                                           &api::SuspectNode::name) != seen.job.status.suspect_nodes.end();
    if (voices < seen.job.spec.processes_per_node || (!silence && is_in_trouble)) continue;
    for (const auto& quietest : {silence, start_silence})
      if (quietest && *quietest > talking && *quietest < limit * 10) zone.silent.insert(pod.node);
    if (silence) zone.since[pod.name] = *silence;
    // Only its start deadline decides.
    if (start_silence && start_deadline > Duration(0) && *start_silence >= std::max(start_deadline, limit))
      zone.late.insert(pod.name);
  }
  for (const auto& [name, zone] : zones) {
    if (zone.talks || zone.silent.size() < 2) continue;
    ++tally_.held;
    for (const auto& action : decision.actions) {
      const auto* event = std::get_if<core::EmitEvent>(&action);
      if (event == nullptr || !event->message.ends_with(": silent for too long")) continue;
      const std::string pod = event->message.substr(0, event->message.find(": "));
      if (zone.late.contains(pod)) continue;
      const auto since = zone.since.find(pod);
      EXPECT_TRUE(since == zone.since.end() || since->second >= limit * 10)
          << event->message << ", and with it all of " << name << "\n"
          << world_.describe();
    }
  }
}

// The time at which each member's node will go: the announced time, or the time that the platform leaves
// after the notice. A notice without its age is as old as the first stored observation of it.
void Laws::find_ends(const Observation& seen, const Decision& decision) {
  ends_found_.clear();
  const bool is_looked_at = !seen.job.spec.is_suspended && !decision.status.suspending_since;
  for (const auto& member : decision.status.members) {
    for (const auto& pod : seen.pods) {
      const bool is_its_own = pod.uid == member.uid && pod.name == name_of(member) && !pod.node.empty();
      EXPECT_TRUE(!is_its_own || member.node == pod.node) << name_of(member) << " is on " << pod.node;
    }
    const std::string place = name_of(member) + " on " + member.node;
    const auto told = ends_told_.find(place);
    const bool is_node_known =
        std::ranges::find(seen.nodes, member.node, &api::Node::name) != seen.nodes.end();
    if (!is_looked_at || !is_node_known) {
      if (told != ends_told_.end()) ends_found_.insert(*told);
      continue;
    }
    const Notice* notice = world_.notice_of(member.node);
    if (notice == nullptr || !notice->leaves) continue;
    const WallTime end{notice->said_at.value_or(seen.wall_now).since_epoch + *notice->leaves};
    ends_found_[place] = told == ends_told_.end() ? end : std::min(end, told->second);
  }
}

// Members on a node whose end is known are told, and the end is not put off. Members whose pod is deleted
// with grace are told as well, and they are no loss before the grace is over.
void Laws::check_departures(const Observation& seen, const Decision& decision) {
  find_ends(seen, decision);
  std::vector<api::Departure> expected;
  for (const auto& member : decision.status.members) {
    const auto granted = granted_until(seen, member);
    const auto end = ends_found_.find(name_of(member) + " on " + member.node);
    const bool is_known = end != ends_found_.end();
    if (member.is_completed || (!is_known && !granted)) continue;
    const WallTime at = !granted ? end->second : is_known ? std::min(*granted, end->second) : *granted;
    expected.push_back(
        {.role = member.role, .index = member.index, .incarnation = member.incarnation, .at = at});
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

// A member and its successor may send messages, and no other process.
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
  if (seen.job.status.is_world_formed && seen.job.status.attempt == decision.status.attempt) return;

  check_resume(seen, decision);
}

// A member without a seat is done or was left out, and there are enough seats.
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
  if (world_.wall_ahead() > Duration(0)) return;  // the wall measured its beginning
  const double since_noticed = seconds(world_.wall_now().since_epoch - done.time.since_epoch);
  EXPECT_NEAR(p.total_seconds(), p.detect_seconds + since_noticed, 1e-6)
      << "the phases do not add up to the time that passed";
}

}  // namespace ratoon::sim
