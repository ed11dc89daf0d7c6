// The actions of programs without the agent in one tick: ranks that met at the first one's address. The
// programs step only while all are present, and their progress is kept, as in a folder that all share.
#include <algorithm>
#include <chrono>

#include "tests/property/operator/simulated_world.h"

namespace ratoon::sim {
namespace {

// A program without the agent cannot be fenced: the operator waits for it until its pod should be long gone.
constexpr Duration kWaitedFor = std::chrono::seconds(30);
// A pod whose creation reached the server late may run until the operator, which may be away, has seen it.
constexpr Duration kUnseenFor = std::chrono::seconds(120);

const api::GroupRankAssignment& seat_of(const api::Pod& pod) {
  return *pod.group_rank_assignment;
}

const std::string& meeting_of(const api::Pod& pod) {
  return seat_of(pod).master_address.empty() ? pod.address : seat_of(pod).master_address;
}

}  // namespace

bool World::is_given_up(const Agent& program) const {
  const auto& pod = pods_.at(program.pod_uid).pod;
  return pod.is_deleting && pod.ends_at && pod.ends_at->since_epoch + kWaitedFor <= wall_now().since_epoch;
}

bool World::is_unseen(const Agent& program) const {
  const auto late = came_late_.find(program.pod_uid);
  return late != came_late_.end() && now_ - late->second < kUnseenFor;
}

bool World::is_awake(const std::vector<Agent*>& group) const {
  return std::ranges::all_of(group, [&](const Agent* program) { return now_ >= program->frozen_until; });
}

// Many programs take the signal for the end of their work, if they receive it at all.
void World::take_signals() {
  for (auto& program : agents_) {
    if (program->state == Agent::State::kGone) continue;
    if (pods_.at(program->pod_uid).pod.is_deleting && moves_.percent("hears-signal", program->pod_uid, 10))
      leave(*program, moves_.pick("signalled-with", {0, 1, 143}));
  }
}

void World::trouble_for_program(Agent& program) {
  if (program.state == Agent::State::kGone) return;
  if (moves_.percent("freezes", 50))
    program.frozen_until = now_ + moves_.ticks("frozen-for", 1, 31);
  else
    leave(program, moves_.pick("ends-with", {137, 143, 1, 134, 139}));
}

void World::let_programs_work() {
  take_signals();
  std::map<std::string, std::vector<Agent*>> groups;
  for (auto& program : agents_)
    if (program->state != Agent::State::kGone)
      groups[meeting_of(pods_.at(program->pod_uid).pod)].push_back(program.get());
  std::size_t at_work = 0;
  for (const auto& [meeting, group] : groups) {
    std::set<std::uint32_t> ranks;
    for (const Agent* program : group) ranks.insert(seat_of(pods_.at(program->pod_uid).pod).first_rank);
    if (ranks.size() != group.size()) broken_seat_ = "two of one rank met at " + meeting;
    const bool is_whole = ranks.size() == seat_of(pods_.at(group.front()->pod_uid).pod).world_size;
    if (is_whole && is_awake(group)) met_.insert(meeting);
    if (!met_.contains(meeting)) continue;
    const auto is_excused = [&](const Agent* program) {
      return is_given_up(*program) || is_unseen(*program);
    };
    if (!std::ranges::all_of(group, is_excused)) ++at_work;
    work(group, is_whole);
  }
  if (at_work > 1) broken_seat_ = "two groups run at once";
}

// Peers of a vanished program: those that notice fail, the others wait for ever.
void World::work(const std::vector<Agent*>& group, bool is_whole) {
  const bool has_ended = is_trained();
  if (!has_ended && is_whole && is_awake(group)) ++group_steps_;
  for (Agent* program : group) {
    if (now_ < program->frozen_until) continue;
    if (has_ended && !moves_.percent("stays", program->pod_uid, 60)) leave(*program, 0);
    if (!has_ended && !is_whole && !moves_.percent("hangs-on", program->pod_uid, 85)) leave(*program, 1);
  }
}

}  // namespace ratoon::sim
