#include "tests/property/operator/simulated_world.h"

#include <algorithm>
#include <chrono>

#include "tests/support/operator_builders.h"

namespace ratoon::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kTick = milliseconds(500);

template <class T>
T pick(Dice& dice, std::initializer_list<T> from) {
  return *(from.begin() + dice.below(from.size()));
}

}  // namespace

Scenario draw_scenario(Dice& dice) {
  Scenario s;
  s.members = static_cast<std::uint32_t>(1 + dice.below(4));
  s.processes_per_node = static_cast<std::uint32_t>(1 + dice.below(2));
  s.total_steps = 10 + dice.below(40);
  s.save_every = 1 + dice.below(8);
  s.chaos_ticks = static_cast<int>(20 + dice.below(180));
  if (dice.percent(15)) s.restarts_max = static_cast<std::uint32_t>(dice.below(4));
  s.has_fatal_exits = dice.percent(5);
  return s;
}

World::World(std::uint64_t seed, Scenario scenario)
    : dice_(seed), scenario_(scenario), now_{seconds(1000)}, job_(test::new_job(scenario.members)) {
  job_.spec.processes_per_node = scenario.processes_per_node;
  job_.spec.restart_policy.restarts_max = scenario.restarts_max;
  listening_since_ = now_;
}

std::vector<api::Pod> World::pods() const {
  std::vector<api::Pod> pods;
  for (const auto& [uid, entry] : pods_) pods.push_back(entry.pod);
  return pods;
}

core::Observation World::observe() const {
  return {.job = job_,
          .pods = pods(),
          .processes = door_.processes(),
          .world = door_.announcement().world,
          .listening_since = listening_since_};
}

core::Observation World::observe_after(const core::Observation& seen, const core::Decision& decision) const {
  core::Observation after = seen;
  after.job.status = decision.status;
  for (const auto& action : decision.actions) {
    if (const auto* create = std::get_if<core::CreatePod>(&action)) {
      after.pods.push_back(create->pod);
      after.pods.back().uid = "just-made-" + create->pod.name;
    } else if (const auto* remove = std::get_if<core::DeletePod>(&action)) {
      for (auto& pod : after.pods) pod.is_deleting = pod.is_deleting || pod.uid == remove->uid;
    }
  }
  coordinator::Door door = door_;
  door.announce(decision.announcement);
  after.processes = door.processes();
  after.world = door.announcement().world;
  return after;
}

void World::carry_out(const core::Decision& decision, bool is_chaos) {
  // The operator may stop before any of: storing the status, each action, telling the agents.
  const std::size_t whole = decision.actions.size() + 2;
  const bool is_cut_short = is_chaos && dice_.percent(8);
  std::size_t left = is_cut_short ? dice_.below(whole) : whole;
  const auto comes_to_next = [&] { return left != 0 && left-- != 0; };

  if (comes_to_next()) job_.status = decision.status;
  for (const auto& action : decision.actions) {
    if (!comes_to_next()) break;
    if (const auto* create = std::get_if<core::CreatePod>(&action)) {
      const auto known = std::find_if(pods_.begin(), pods_.end(), [&](const auto& item) {
        return item.second.pod.name == create->pod.name;
      });
      if (known != pods_.end()) continue;
      SimPod made{.pod = create->pod, .runs_at = now_ + kTick * dice_.below(8), .gone_at = {}};
      made.pod.uid = "uid-" + std::to_string(++created_);
      pods_.emplace(made.pod.uid, made);
    } else if (const auto* remove = std::get_if<core::DeletePod>(&action)) {
      const auto found = pods_.find(remove->uid);
      if (found == pods_.end() || found->second.pod.is_deleting) continue;
      found->second.pod.is_deleting = true;
      // A node that is gone keeps its pods in Terminating, and what runs there runs on.
      const auto ticks = is_chaos && dice_.percent(30) ? 20 + dice_.below(100) : dice_.below(4);
      found->second.gone_at = now_ + kTick * ticks;
    }
  }
  if (comes_to_next()) {
    door_.announce(decision.announcement);
    is_open_ = true;
  }
  if (is_cut_short && dice_.percent(60)) {  // it was the process that ended, not just a call that failed
    door_ = coordinator::Door();
    is_open_ = false;
    listening_since_ = now_;
    end_half_pods();
  }
}

// The core waits for a process that left with 0 when nobody remembers that it completed, for as long as its
// pod runs: there is no deadline yet for processes that never speak. Until there is one, such pods end here.
void World::end_half_pods() {
  for (const auto& [uid, entry] : pods_) {
    const auto living = std::count_if(agents_.begin(), agents_.end(), [&, &id = uid](const auto& agent) {
      return agent->pod_uid == id && agent->state != Agent::State::kGone;
    });
    if (living != 0 && living != scenario_.processes_per_node) end_pod(uid, 137);
  }
}

void World::advance(bool is_chaos) {
  now_ = now_ + kTick;
  if (is_chaos) make_trouble();
  move_pods();
  std::erase_if(agents_, [](const auto& agent) { return agent->state == Agent::State::kGone; });
  const std::size_t count = agents_.size();
  for (std::size_t i = 0; i < count; ++i)
    act(*agents_[(i + static_cast<std::size_t>(now_.since_boot / kTick)) % count]);
  std::erase_if(late_beats_, [&](const auto& late) {
    if (late.first > now_ || !is_open_) return false;
    if (!door_.refuse(late.second.process)) door_.hear_beat(late.second, now_);
    return true;
  });
}

void World::make_trouble() {
  if (dice_.percent(2)) listening_since_ = now_;  // the operator stood still for a moment
  if (dice_.percent(2)) {                         // the network between the operator and all agents
    const Duration length = kTick * (1 + dice_.below(120));
    for (auto& agent : agents_) agent->cut_until = now_ + length;
  }
  for (auto& agent : agents_) {
    if (dice_.percent(3)) trouble_for(*agent);
  }
  if (dice_.percent(1) && !pods_.empty()) {  // the pod object vanishes; what ran there may run on
    const auto victim = std::next(pods_.begin(), static_cast<std::ptrdiff_t>(dice_.below(pods_.size())));
    const std::string uid = victim->first;
    pods_.erase(victim);
    const bool runs_on = dice_.percent(50);
    for (auto& agent : agents_)
      if (agent->pod_uid == uid && !runs_on) agent->state = Agent::State::kGone;
  }
}

void World::trouble_for(Agent& agent) {
  switch (dice_.below(6)) {
    case 0:
      agent.frozen_until = now_ + kTick * (1 + dice_.below(30));
      break;
    case 1:
      agent.cut_until = now_ + kTick * (1 + dice_.below(60));
      break;
    case 2:
      leave(agent, pick(dice_, {137, 143, 80, 81}));
      break;
    case 3:
      for (auto& other : agents_)  // exit code 0 is the pod's only once all processes have left
        if (other->pod_uid == agent.pod_uid) other->state = Agent::State::kGone;
      leave(agent, pick(dice_, {1, 134, 139, 84, 0}));
      break;
    case 4:  // the launcher starts the process again in the same pod
      agent.identity.start = "start-" + std::to_string(++starts_);
      agent.state = Agent::State::kJoining;
      agent.left_attempt = Attempt(0);
      agent.assignment = {};
      agent.asked.reset();
      agent.committed.reset();
      agent.uncommitted.clear();
      break;
    default:
      if (scenario_.has_fatal_exits && dice_.percent(20)) {
        has_had_fatal_exit_ = true;
        leave(agent, pick(dice_, {82, 83}));
      }
  }
}

void World::move_pods() {
  for (auto it = pods_.begin(); it != pods_.end();) {
    SimPod& entry = it->second;
    if (entry.pod.is_deleting && now_ >= entry.gone_at) {
      for (auto& agent : agents_)
        if (agent->pod_uid == it->first) agent->state = Agent::State::kGone;
      it = pods_.erase(it);
      continue;
    }
    if (entry.pod.phase == api::PodPhase::kPending && !entry.pod.is_deleting && now_ >= entry.runs_at) {
      entry.pod.phase = api::PodPhase::kRunning;
      start_processes(entry);
    }
    ++it;
  }
}

void World::start_processes(const SimPod& pod) {
  for (std::uint32_t local_rank = 0; local_rank < scenario_.processes_per_node; ++local_rank) {
    auto agent = std::make_unique<Agent>();
    agent->identity = test::process(pod.pod.index, pod.pod.incarnation, local_rank);
    agent->identity.member_uid = pod.pod.uid;
    agent->identity.start = "start-" + std::to_string(++starts_);
    agent->pod_uid = pod.pod.uid;
    agents_.push_back(std::move(agent));
  }
}

// A pod ends with its first process that fails, or with the last one that does not.
void World::end_pod(const std::string& uid, int exit_code) {
  const auto found = pods_.find(uid);
  const bool others_live = std::any_of(agents_.begin(), agents_.end(), [&](const auto& agent) {
    return agent->pod_uid == uid && agent->state != Agent::State::kGone;
  });
  if (exit_code == 0 && others_live) return;
  for (auto& agent : agents_)
    if (agent->pod_uid == uid) agent->state = Agent::State::kGone;
  if (found == pods_.end() || found->second.pod.has_ended()) return;
  found->second.pod.phase = exit_code == 0 ? api::PodPhase::kSucceeded : api::PodPhase::kFailed;
  found->second.pod.exit_code = exit_code;
}

void World::leave(Agent& agent, int exit_code) {
  agent.state = Agent::State::kGone;
  end_pod(agent.pod_uid, exit_code);
}

std::string World::describe() const {
  std::string text = "at " + std::to_string(now_.since_boot / kTick) + ": " +
                     std::string(api::name_of(job_.status.phase)) + " attempt " +
                     std::to_string(job_.status.attempt.value()) +
                     (job_.status.is_formed ? " formed" : " forming") + ", " + job_.status.message + "\n";
  for (const auto& m : job_.status.members) {
    text += "  member " + std::to_string(m.index) + "-i" + std::to_string(m.incarnation) + " " + m.uid + "\n";
  }
  for (const auto& [uid, entry] : pods_) {
    text += "  pod " + entry.pod.name + " " + uid + " phase " +
            std::to_string(static_cast<int>(entry.pod.phase)) +
            (entry.pod.is_deleting ? " deleting\n" : "\n");
  }
  for (const auto& agent : agents_) {
    text += "  agent " + std::to_string(agent->identity.index) + "-i" +
            std::to_string(agent->identity.incarnation) + " " + agent->pod_uid + " state " +
            std::to_string(static_cast<int>(agent->state)) + " attempt " +
            std::to_string(agent->assignment.attempt.value()) + " step " + std::to_string(agent->step) + "\n";
  }
  return text;
}

}  // namespace ratoon::sim
