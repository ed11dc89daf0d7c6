// What a process does in one tick: the agent's session in a few lines.
#include <algorithm>
#include <chrono>

#include "tests/property/operator/simulated_world.h"
#include "tests/support/builders.h"

namespace ratoon::sim {

void World::act(Agent& agent) {
  if (agent.state == Agent::State::kGone || now_ < agent.frozen_until) return;
  if (agent.state == Agent::State::kTraining) train(agent);
  if (agent.state == Agent::State::kFinishing) complete(agent);
  if (agent.state == Agent::State::kJoining) join(agent);
  if (agent.state != Agent::State::kGone) beat(agent);
}

// Every rank takes part in every step: nobody ends one that another has not begun.
bool World::can_step(const Agent& agent) const {
  for (std::uint32_t rank = 0; rank < agent.assignment.world_size; ++rank) {
    const auto other = positions_.find({agent.assignment.attempt, Rank(rank)});
    if (other == positions_.end() || other->second < agent.step) return false;
    if (other->second > agent.step) continue;
    const bool takes_part = std::any_of(agents_.begin(), agents_.end(), [&](const auto& a) {
      return a->state == Agent::State::kTraining && a->assignment.attempt == agent.assignment.attempt &&
             a->assignment.rank == Rank(rank) && now_ >= a->frozen_until;
    });
    if (!takes_part) return false;
  }
  return true;
}

void World::train(Agent& agent) {
  if (agent.step < scenario_.total_steps && can_step(agent)) {
    ++agent.step;
    positions_[{agent.assignment.attempt, agent.assignment.rank}] = agent.step;
    if (agent.step % scenario_.save_every == 0 || agent.step == scenario_.total_steps) save(agent);
  }
  commit(agent);
  if (agent.step >= scenario_.total_steps && agent.uncommitted.empty())
    agent.state = Agent::State::kFinishing;
}

void World::save(Agent& agent) {
  receipts_[{agent.assignment.attempt, Step(agent.step)}].insert(agent.assignment.rank);
  agent.uncommitted.insert(agent.step);
}

void World::commit(Agent& agent) {
  while (!agent.uncommitted.empty()) {
    const Lineage id{agent.assignment.attempt, Step(*agent.uncommitted.begin())};
    const InventoryEntry entry = test::checkpoint(id.first.value(), id.second.value());
    if (agent.assignment.rank == Rank(0) && receipts_[id].size() == agent.assignment.world_size)
      checkpoints_.emplace(id, entry.digest);
    if (!checkpoints_.contains(id)) return;
    agent.committed = entry;
    agent.uncommitted.erase(agent.uncommitted.begin());
  }
}

void World::join(Agent& agent) {
  if (!agent.asked) {
    agent.asked = test::join_request(agent.identity, agent.left_attempt.value());
    for (const auto& [id, digest] : checkpoints_)
      agent.asked->inventory.push_back(test::checkpoint(id.first.value(), id.second.value()));
  }
  if (!is_reachable(agent)) return;
  if (const auto refusal = door_.refuse_join(agent.identity))
    return leave(agent, refusal->kind == "superseded" ? 81 : 80);
  door_.hear_join(*agent.asked, now_);
  const auto assignment = door_.take_seat(agent.identity);
  if (!assignment || dice_.percent(5)) return;  // or the reply is lost: it asks again
  agent.asked.reset();
  agent.assignment = *assignment;
  agent.state = Agent::State::kTraining;
  agent.uncommitted.clear();
  agent.step = assignment->resume ? assignment->resume->step.value() : 0;
  positions_[{assignment->attempt, assignment->rank}] = agent.step;
}

void World::obey(Agent& agent, const Orders& orders) {
  if (orders.stop) return leave(agent, 80);
  if (agent.state != Agent::State::kTraining || orders.attempt <= agent.assignment.attempt) return;
  agent.state = Agent::State::kJoining;
  agent.left_attempt = agent.assignment.attempt;
  agent.assignment = {};
  agent.asked.reset();
}

void World::beat(Agent& agent) {
  Beat beat = test::beat(agent.identity, agent.assignment.attempt.value(), agent.step, ++agent.sequence,
                         agent.committed);
  if (dice_.percent(4)) late_beats_.emplace_back(now_ + std::chrono::seconds(dice_.below(40)), beat);
  if (!is_reachable(agent)) return;
  if (door_.refuse(agent.identity)) return leave(agent, 81);
  door_.hear_beat(beat, now_);
  obey(agent, door_.orders());
}

void World::complete(Agent& agent) {
  if (!is_reachable(agent)) return;
  if (door_.refuse(agent.identity)) return leave(agent, 81);
  door_.hear_completed(test::completed(agent.identity, agent.assignment.attempt.value(), agent.step), now_);
  if (!dice_.percent(10)) leave(agent, 0);  // else the reply is lost: it says so again
}

}  // namespace ratoon::sim
