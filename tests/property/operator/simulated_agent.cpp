// The actions of a process in one tick: the agent's session in a few lines.
#include <algorithm>
#include <chrono>
#include <utility>

#include "base/contract/resume_point.h"
#include "tests/property/operator/recount.h"
#include "tests/property/operator/simulated_world.h"
#include "tests/support/builders.h"

namespace ratoon::sim {
namespace {

constexpr std::uint32_t kSave = 1;  // the control word's bits
constexpr std::uint32_t kLeave = 2;
constexpr std::uint32_t kDue = 4;

constexpr double kMayStandSeconds = 4;  // in a step; less than it takes to miss what happened in the calm
constexpr Duration kLeavesWithin = std::chrono::seconds(5);
constexpr Duration kPollHold = std::chrono::seconds(20);  // the operator answers a call by then
constexpr Duration kSaveMargin = std::chrono::seconds(10);

// Messages as an agent sends them.
std::optional<Duration> time_of_save(const Agent& agent, Timestamp now) {
  if (agent.uncommitted.empty()) return agent.save_took;
  const Duration until_now = now - agent.uncommitted.rbegin()->second.began;
  return std::max(until_now, agent.save_took.value_or(until_now));
}

}  // namespace

void World::act(Agent& agent) {
  if (agent.state == Agent::State::kGone) return;
  if (now_ < agent.frozen_until) {
    agent.moved_at = now_;  // who stood as a whole does not count that time
    return;
  }
  if (agent.hangs_in) return hang(agent);
  if (agent.state == Agent::State::kTraining) train(agent);
  if (agent.state == Agent::State::kHandingOver) hand_over(agent);
  if (agent.state == Agent::State::kFinishing && now_ >= agent.copies_until) complete(agent);
  if (agent.state == Agent::State::kJoining) join(agent);
  if (agent.state != Agent::State::kGone) beat(agent);
}

// Its training thread hangs; the beating thread ends the process some time after the order to leave.
void World::hang(Agent& agent) {
  beat(agent);
  if (agent.state == Agent::State::kGone || agent.told_to_leave == Timestamp()) return;
  if (now_ - agent.told_to_leave > kLeavesWithin) leave(agent, 81);
}

// Every rank takes part in every step: no rank ends a step that another has not begun.
bool World::can_step(const Agent& agent) const {
  if (is_any_link_cut_in(agent.assignment.attempt)) return false;
  for (std::uint32_t rank = 0; rank < agent.assignment.world_size; ++rank) {
    const auto other = positions_.find({agent.assignment.attempt, Rank(rank)});
    if (other == positions_.end() || other->second < agent.step) return false;
    if (other->second > agent.step) continue;
    const bool takes_part = std::any_of(agents_.begin(), agents_.end(), [&](const auto& a) {
      return a->state == Agent::State::kTraining && a->assignment.attempt == agent.assignment.attempt &&
             a->assignment.rank == Rank(rank) && now_ >= a->frozen_until && !a->hangs_in;
    });
    if (!takes_part) return false;
  }
  return true;
}

// The joint actions of all ranks after their next step: the requests of any rank when the first one made it.
std::uint32_t World::agree(const Agent& agent) {
  const auto [word, is_first] = agreed_.try_emplace({agent.assignment.attempt, agent.step + 1}, 0);
  if (!is_first) return word->second;
  // No save is begun before the last one is committed, except the save of a hand-over.
  const auto has_room = [&](const Agent& one) {
    return save_time() == Duration(0) || one.uncommitted.empty();
  };
  if ((agent.step + 1) % scenario_.save_every == 0 && has_room(agent)) word->second |= kDue;
  for (const auto& other : agents_) {
    if (other->state != Agent::State::kTraining || other->assignment.attempt != agent.assignment.attempt)
      continue;
    if (other->wanted_save > other->served_save && has_room(*other)) word->second |= kSave;
    if (other->wanted_hand_over == other->assignment.attempt) word->second |= kLeave;
  }
  return word->second;
}

void World::train(Agent& agent) {
  if (agent.step < scenario_.total_steps && can_step(agent)) make_step(agent);
  if (agent.state != Agent::State::kTraining) return;
  commit(agent);
  if (agent.step >= scenario_.total_steps && agent.uncommitted.empty()) finish(agent);
}

// Rank 0 sends the packs of all ranks to a store; the others have little to wait for.
void World::finish(Agent& agent) {
  agent.state = Agent::State::kFinishing;
  agent.copies_until = now_;
  if (!scenario_.policies.ends_slowly) return;
  const std::uint64_t ticks = agent.assignment.rank == Rank(0) ? 60 : 4;
  agent.copies_until = now_ + moves_.ticks("copies-for", 0, ticks);
}

void World::make_step(Agent& agent) {
  const std::uint32_t agreed = agree(agent);
  ++agent.step;
  agent.moved_at = now_;
  positions_[{agent.assignment.attempt, agent.assignment.rank}] = agent.step;
  const bool is_at_end = agent.step == scenario_.total_steps;
  const bool is_handed_over = (agreed & kLeave) != 0 && !is_at_end;
  if (is_at_end || agreed != 0) save(agent);
  if (!is_handed_over) return;
  agent.state = Agent::State::kHandingOver;
  const Duration for_others = std::max<Duration>(std::chrono::seconds(60), 2 * save_time() + kSaveMargin);
  agent.waits_until = agent.uncommitted.rbegin()->second.ends + for_others;
}

void World::save(Agent& agent) {
  agent.served_save = agent.wanted_save;
  const Timestamp begins =
      agent.uncommitted.empty() ? now_ : std::max(now_, agent.uncommitted.rbegin()->second.ends);
  agent.uncommitted[agent.step] = {.began = now_, .ends = begins + save_time()};
  vote(agent);
}

void World::vote(Agent& agent) {
  for (const auto& [step, write] : agent.uncommitted)
    if (write.ends <= now_) receipts_[{agent.assignment.attempt, Step(step)}].insert(agent.assignment.rank);
}

void World::commit(Agent& agent) {
  vote(agent);
  while (!agent.uncommitted.empty()) {
    const Lineage id{agent.assignment.attempt, Step(agent.uncommitted.begin()->first)};
    const bool is_whole = receipts_[id].size() == agent.assignment.world_size;
    if (agent.assignment.rank == Rank(0) && is_whole && !storage_.holds(id))
      storage_.commit(id, nodes_in(id.first), now_, now_ + moves_.ticks("copied-after", 2, 20));
    if (!storage_.holds(id)) return;
    const bool is_reported_damaged = std::ranges::any_of(
        agent.damaged, [&](const auto& bad) { return Lineage(bad.attempt, bad.step) == id; });
    if (!is_reported_damaged) agent.committed = storage_.entry_of(id);
    agent.save_took = now_ - agent.uncommitted.begin()->second.began;
    agent.uncommitted.erase(agent.uncommitted.begin());
  }
  // The checkpoint is in the store, too, since a moment ago.
  if (agent.committed && storage_.holds({agent.committed->attempt, agent.committed->step}))
    agent.committed->tier = storage_.entry_of({agent.committed->attempt, agent.committed->step}).tier;
}

std::string World::node_of(const Agent& agent) const {
  const auto pod = pods_.find(agent.pod_uid);
  return pod == pods_.end() ? "nowhere" : pod->second.pod.node;
}

// The processes that train, or trained until now, in that world.
std::set<std::string> World::nodes_in(Attempt attempt) const {
  std::set<std::string> nodes;
  for (const auto& agent : agents_)
    if (agent->is_in_a_world() && agent->assignment.attempt == attempt) nodes.insert(node_of(*agent));
  return nodes;
}

void World::hand_over(Agent& agent) {
  commit(agent);
  if (agent.uncommitted.empty() || now_ >= agent.waits_until) leave_world(agent);
}

void World::leave_world(Agent& agent) {
  agent.state = Agent::State::kJoining;
  if (agent.assignment.attempt >= agent.left_attempt) agent.left_step = agent.step;
  agent.left_attempt = std::max(agent.left_attempt, agent.assignment.attempt);
  agent.assignment = {};
  agent.asked.reset();
  agent.uncommitted.clear();
}

void World::ask(Agent& agent) {
  auto found = storage_.look(node_of(agent), agent.unreadable);
  // Checkpoints in the run's folder are no news to a process, whichever process wrote them.
  for (const auto& entry : found) {
    if (entry.attempt <= agent.left_attempt) continue;
    agent.left_attempt = entry.attempt;
    agent.left_step = 0;  // how far that one came it does not know
  }
  agent.asked = test::join_request(agent.identity, agent.left_attempt.value());
  agent.asked->left_step = Step(agent.left_step);
  agent.asked->has_been_in_world = agent.has_been_in_world;
  if (scenario_.rolls_back) {
    agent.asked->rollback = RollbackRequest{.resume_from = Step(scenario_.former_step), .skip = 0};
    // Until the first world has recorded the given-up checkpoints, each process skips them by itself.
    for (auto& entry : found) {
      const bool is_others =
          entry.attempt.value() == scenario_.former_attempt && entry.step.value() != scenario_.former_step;
      if (!is_others) continue;
      entry.digest = kAbandonedDigest;
      entry.is_complete = false;
    }
  }
  agent.asked->inventory = std::move(found);
  agent.listed = now_;
}

// A process that cannot load a checkpoint reports it, and joins again. Some damage is not in the process's
// own part, and the process does not see it.
bool World::load(Agent& agent) {
  const auto& resume = agent.assignment.resume;
  if (!resume) return true;
  const Lineage id{resume->attempt, resume->step};
  if (scenario_.rolls_back && agent.assignment.rank == Rank(0)) {
    const Lineage wished{Attempt(scenario_.former_attempt), Step(scenario_.former_step)};
    if (id == wished) storage_.give_up_all_but(id);
  }
  const auto saved = storage_.all().find(id);
  if (saved == storage_.all().end()) return true;  // judged by the laws
  const bool is_there = saved->second.is_within_reach(node_of(agent));
  const bool is_bad = saved->second.is_damaged && moves_.percent("finds-damage", agent.pod_uid, 60);
  if (is_there && !is_bad) return true;
  agent.unreadable.insert(id);
  return false;
}

void World::join(Agent& agent) {
  if (is_told_to_go(agent)) {  // its last words are what it committed
    beat(agent);
    if (agent.state != Agent::State::kGone) leave(agent, 80);
    return;
  }
  if (!is_reachable(agent)) {  // most look again before they ask again
    agent.repeats_list =
        agent.asked && moves_.percent("repeats-list", agent.pod_uid, agent.repeats_list ? 99 : 60);
    if (!agent.repeats_list) agent.asked.reset();
    return;
  }
  has_news_ |= std::exchange(agent.repeats_list, false);
  if (!agent.asked) {
    ask(agent);
    has_news_ = true;
    const auto& found = agent.asked->inventory;
    const auto is_good = [](const InventoryEntry& entry) { return entry.is_complete; };
    if (!found.empty() && std::ranges::none_of(found, is_good)) return leave(agent, 83);
  }
  if (const auto refusal = member_server_.find_join_refusal(agent.identity))
    return leave(agent, refusal->kind == "superseded" ? 81 : 80);
  agent.asked->inventory_age_seconds = seconds(now_ - agent.listed);
  member_server_.record_join(*agent.asked, now_);
  heard_[agent.identity.start] = *agent.asked;
  agent.called_at = now_;
  agent.called_operator = operators_lost_;
  waits_.emplace(agent.pod_uid, agent.identity.local_rank);
  const auto assignment = member_server_.take_assignment(agent.identity);
  if (!assignment && member_server_.take_checkpoint_list_request(agent.identity)) return agent.asked.reset();
  if (assignment) {
    waits_.erase({agent.pod_uid, agent.identity.local_rank});
    heard_of_worlds_[assignment->attempt].moved_at = now_;
  }
  if (!assignment && agent.stalls_after_call > Duration(0))
    agent.frozen_until = now_ + std::exchange(agent.stalls_after_call, Duration(0));
  if (!assignment || moves_.percent("loses-seat", agent.pod_uid, 5))
    return;  // or the reply is lost: it asks again
  sit_down(agent, *assignment);
}

void World::sit_down(Agent& agent, const Assignment& assignment) {
  agent.asked.reset();
  agent.assignment = assignment;
  agent.has_been_in_world = true;
  agent.state = Agent::State::kTraining;
  agent.moved_at = agent.beats_at = now_;
  agent.served_save = 0;
  agent.names_peers = false;
  agent.damaged.clear();
  agent.step = assignment.resume ? assignment.resume->step.value() : 0;
  for (const auto& [seat, reached] : positions_) {
    if (seat.first < assignment.attempt && reached > agent.step)
      repeated_steps_ = std::max(repeated_steps_, reached - agent.step);
  }
  judge_seat(agent);
  if (!load(agent)) return leave_world(agent);
  if (assignment.resume && storage_.holds({assignment.resume->attempt, assignment.resume->step}))
    agent.committed = storage_.entry_of({assignment.resume->attempt, assignment.resume->step});
  positions_[{assignment.attempt, assignment.rank}] = agent.step;
}

void World::judge_seat(const Agent& agent) {
  for (const auto& other : agents_) {
    const bool is_twin = other.get() != &agent && other->is_in_a_world() &&
                         other->assignment.attempt == agent.assignment.attempt &&
                         other->identity.role == agent.identity.role &&
                         other->identity.index == agent.identity.index &&
                         other->identity.local_rank == agent.identity.local_rank;
    if (is_twin) broken_seat_ = "two of " + agent.pod_uid + "'s member sit in one world";
  }
  // An older world may still be announced when its successor was only stored: no process can train in it.
  if (agent.assignment.attempt != job_.status.attempt) return;
  const auto& members = job_.status.members;
  const bool is_member = std::any_of(members.begin(), members.end(), [&](const auto& member) {
    return sits_for(agent.identity, member) && agent.pod_uid == member.uid;
  });
  if (!is_member) broken_seat_ = agent.pod_uid + " was superseded and has a seat";
}

void World::obey(Agent& agent, const Orders& orders) {
  agent.wanted_save = orders.save_request;
  agent.wanted_hand_over = orders.hand_over ? orders.attempt : Attempt(0);
  if (agent.hangs_in) {
    const bool is_to_leave = orders.stop || orders.attempt > agent.assignment.attempt;
    if (is_to_leave && agent.told_to_leave == Timestamp()) agent.told_to_leave = now_;
    return;
  }
  if (orders.stop) return leave(agent, 80);
  const bool may_leave = agent.state == Agent::State::kTraining || agent.state == Agent::State::kHandingOver;
  if (may_leave && orders.attempt > agent.assignment.attempt) leave_world(agent);
}

void World::beat(Agent& agent) {
  const bool is_due = now_ >= agent.beats_at || agent.state != Agent::State::kTraining;
  if (!is_due) return;
  if (agent.state == Agent::State::kTraining)
    agent.beats_at = now_ + from_seconds(agent.assignment.beat_seconds);
  Heartbeat beat = test::beat(agent.identity, agent.assignment.attempt.value(), agent.step, ++agent.sequence,
                              agent.committed);
  beat.damaged = agent.damaged;
  if (const auto took = time_of_save(agent, now_)) beat.save_seconds = seconds(*took);
  if (agent.state == Agent::State::kTraining && agent.step < scenario_.total_steps) {
    beat.unreachable_peers = probe_peers(agent);
    beat.phase = agent.hangs_in.value_or(ProcessPhase::kCollective);
    beat.seconds_in_phase = seconds(now_ - agent.moved_at);
    beat.allowed_seconds = kMayStandSeconds;
  }
  const bool tells_of_steps =
      agent.state == Agent::State::kTraining || agent.state == Agent::State::kFinishing;
  if (tells_of_steps && agent.assignment.rank == Rank(0)) {
    const std::uint64_t step = agent.step;
    beat.outlook = ProgressEstimate{.position = step,
                                    .total = scenario_.total_steps,
                                    .unit = "step",
                                    .loss = 1.0 / static_cast<double>(step + 3)};
  }
  if (moves_.percent("beat-again", agent.pod_uid, 4))
    late_beats_.emplace_back(now_ + moves_.ticks("beat-after", 0, 80), beat);
  if (!is_reachable(agent)) return;
  if (member_server_.refuse(agent.identity)) return leave(agent, 81);
  hear_beat(beat);
  agent.called_at = now_;
  agent.called_operator = operators_lost_;
  obey(agent, member_server_.orders(agent.identity, wall_now()));
}

void World::complete(Agent& agent) {
  done_.emplace(agent.pod_uid, agent.identity.local_rank);
  ever_done_.emplace(agent.pod_uid, agent.identity.local_rank);
  const bool has_last = agent.committed && agent.committed->step.value() == scenario_.total_steps;
  if (agent.identity.local_rank == 0 && has_last) {
    const InventoryEntry& last = *agent.committed;
    records_[agent.pod_uid] = {.attempt = last.attempt, .step = last.step, .digest = last.digest};
  }
  // No operator is there to receive the report: its record remains, or the next run finds the end.
  if (!is_reachable(agent)) {
    const bool may_give_up = scenario_.has_losses || scenario_.processes_per_node == 1;
    if (may_give_up && moves_.percent("gives-up", agent.pod_uid, 5)) leave(agent, 81);
    return;
  }
  if (member_server_.refuse(agent.identity)) return leave(agent, 81);
  has_news_ = true;
  member_server_.record_completed(
      test::completed(agent.identity, agent.assignment.attempt.value(), agent.step), now_);
  if (!agent.said_done_at) agent.said_done_at = now_;
  const bool is_recorded = member_server_.is_recorded_as_completed(agent.identity);
  if (!is_recorded && now_ - *agent.said_done_at < kPollHold) return;  // the answer is held back
  if (moves_.percent("loses-reply", agent.pod_uid, 10)) return;        // it says so again
  if (is_recorded) acknowledged_.emplace(agent.pod_uid, agent.identity.local_rank);
  leave(agent, 0);
}

}  // namespace ratoon::sim
