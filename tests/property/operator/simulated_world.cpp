#include "tests/property/operator/simulated_world.h"

#include <algorithm>
#include <chrono>

#include "tests/property/operator/recount.h"
#include "tests/property/operator/scheduling.h"
#include "tests/support/operator_builders.h"

namespace ratoon::sim {
namespace {

void apply_policies(const Policies& policies, api::TrainingJobSpec& spec) {
  if (policies.helpers > 0) {
    api::Role helper = spec.roles.front();
    helper.name = kHelper;
    helper.replicas = policies.helpers;
    spec.roles.push_back(helper);
  }
  spec.success_policy.roles = policies.deciding;
  spec.failure_policy.roles = policies.failing;
  spec.restart_policy.rules = policies.rules;
  spec.restart_policy.losses_without_step_max = policies.losses_without_step_max;
  spec.restart_policy.is_losses_without_step_max_set = policies.gives_losses_max;
  spec.clean_pod_policy = policies.clean_pods;
  spec.ttl_seconds_after_finished = policies.ttl_seconds;
  spec.release_after_seconds = policies.release_after_seconds;
}

}  // namespace

World::World(Moves moves, const Scenario& scenario)
    : moves_(std::move(moves)),
      scenario_(scenario),
      now_{std::chrono::seconds(1000)},
      job_(test::new_job(scenario.members)),
      storage_(scenario.tiers, scenario.keeps_checkpoints) {
  job_.spec.processes_per_node = scenario.processes_per_node;
  job_.spec.roles.front().has_agent = scenario.has_agent;
  job_.spec.restart_policy.restarts_max = scenario.restarts_max;
  job_.spec.disruption_policy.avoid_node_seconds = scenario.avoid_node_seconds;
  if (scenario.members_min > 0) {
    const std::uint32_t more = scenario.policies.more_places;
    job_.spec.elastic_policy = {.members_min = scenario.members_min,
                                .members_max = more == 0 ? 0 : scenario.members + more,
                                .shrink_after_seconds = scenario.shrink_after_seconds,
                                .grow_cooldown_seconds = scenario.grow_cooldown_seconds};
  }
  job_.spec.restart_policy.backoff_seconds = scenario.backoff_seconds;
  job_.spec.restart_policy.backoff_max_seconds = 20;
  job_.spec.disruption_policy.heartbeat_seconds = scenario.heartbeat_seconds;
  job_.spec.disruption_policy.suspect_after_seconds = scenario.suspect_after_seconds;
  job_.spec.start_deadline_seconds = scenario.start_deadline_seconds;
  job_.spec.progress_deadline_seconds = scenario.progress_deadline_seconds;
  // A user who sets such a deadline knows how long saves take, of which several may follow each other.
  if (scenario.progress_deadline_seconds > 0)
    job_.spec.progress_deadline_seconds += static_cast<std::uint32_t>(4 * scenario.policies.save_seconds);
  job_.spec.max_duration_seconds = scenario.max_duration_seconds;
  job_.spec.checkpoint_policy.overwrites = scenario.begins_anew;
  apply_policies(scenario.policies, job_.spec);
  job_.meta.name = scenario.job_name;
  job_.meta.uid = "job";
  job_.meta.generation = 1;
  if (scenario.former_attempt > 0) {
    for (std::uint64_t i = 0; i <= scenario.former_more; ++i)
      storage_.adopt({Attempt(scenario.former_attempt), Step(scenario.former_step + i)});
  }
  listening_since_ = now_;
  while (!scenario.follows_nodes && nodes_.size() < scenario.nodes) add_node();
  follow_watch();
}

void World::suspend(bool is_suspended) {
  if (job_.spec.is_suspended == is_suspended) return;
  const bool rests = job_.status.phase == api::JobPhase::kSuspended || api::is_over(job_.status.phase);
  if (!is_suspended && refuses_early_resumes_ && !rests) return;
  job_.spec.is_suspended = is_suspended;
  if (job_.status.is_world_formed && size_of(job_.spec) != job_.status.members.size())
    has_resumed_unsaved_ = true;
  ++job_.meta.generation;
}

std::optional<Timestamp> World::move_heard_at(Attempt attempt) const {
  const auto heard = heard_of_worlds_.find(attempt);
  return heard == heard_of_worlds_.end() ? std::nullopt : std::optional(heard->second.moved_at);
}

std::uint64_t World::reached(Attempt attempt) const {
  std::uint64_t newest = 0;
  for (const auto& [seat, step] : positions_)
    if (seat.first == attempt) newest = std::max(newest, step);
  return newest;
}

void World::hear_beat(const Heartbeat& beat) {
  has_news_ |= member_server_.record_beat(beat, now_);
  if (beat.committed) {
    const InventoryEntry& told = *beat.committed;
    told_[beat.process.start] = {
        beat.attempt, ResumePoint{.attempt = told.attempt, .step = told.step, .digest = told.digest}};
  }
  const std::uint64_t step = beat.step.value();
  const auto [heard, is_first] = heard_of_worlds_.try_emplace(beat.attempt, Heard{step, now_});
  if (!is_first && heard->second.step < step) heard->second = {.step = step, .moved_at = now_};
}

std::vector<api::Pod> World::pods() const {
  std::vector<api::Pod> pods;
  for (const auto& [uid, entry] : pods_) pods.push_back(entry.pod);
  return pods;
}

core::Observation World::observe() const {
  core::Observation seen{
      .job = job_,
      .pods = {},
      .processes = member_server_.processes(),
      .world = member_server_.announcement().world,
      .nodes = {},
      .wall_now = wall_now(),
      .recovery = recovery_,
      .checkpoint_lists_valid_from = member_server_.announcement().checkpoint_lists_valid_from,
      .listening_since = listening_since()};
  for (const auto& [uid, pod] : pods_seen_) seen.pods.push_back(pod);
  for (const auto& [name, node] : nodes_seen_) {
    const bool is_used =
        std::any_of(seen.pods.begin(), seen.pods.end(), [&](const auto& pod) { return pod.node == name; });
    if (is_used) seen.nodes.push_back(node);
  }
  return seen;
}

core::Observation World::observe_after(const core::Observation& seen, const core::Decision& decision) const {
  core::Observation after = seen;
  after.job.status = decision.status;
  after.recovery = decision.recovery;
  for (const auto& action : decision.actions) {
    if (const auto* create = std::get_if<core::CreatePod>(&action)) {
      after.pods.push_back(create->pod);
      after.pods.back().uid = "just-made-" + create->pod.name;
      if (scenario_.policies.tells_avoided_nodes)
        after.pods.back().avoided_nodes = excluded_nodes(create->avoid_nodes);
    } else if (const auto* remove = std::get_if<core::DeletePod>(&action)) {
      for (auto& pod : after.pods) pod.is_deleting = pod.is_deleting || pod.uid == remove->uid;
    }
  }
  coordinator::JobSession job_session = member_server_;
  job_session.announce(decision.announcement);
  after.processes = job_session.processes();
  after.world = job_session.announcement().world;
  after.checkpoint_lists_valid_from = job_session.announcement().checkpoint_lists_valid_from;
  return after;
}

void World::carry_out(const core::Decision& decision, bool is_chaos) {
  // The operator may stop before each of these: storing the status, each action, telling the agents.
  const std::size_t whole = decision.actions.size() + 2;
  const bool is_cut_short = is_chaos && scenario_.loses_operator && moves_.percent("cut-short", 8);
  std::size_t left = is_cut_short ? moves_.below("cut-after", whole) : whole;
  const auto comes_to_next = [&] { return left != 0 && left-- != 0; };

  recovery_ = decision.recovery;
  if (comes_to_next()) job_.status = decision.status;
  for (const auto& action : decision.actions) {
    if (!comes_to_next()) break;
    if (const auto* create = std::get_if<core::CreatePod>(&action)) create_pod(*create);
    if (const auto* remove = std::get_if<core::DeletePod>(&action)) delete_pod(remove->uid, is_chaos);
    if (std::holds_alternative<core::DeleteJob>(action)) return delete_job();
  }
  if (comes_to_next()) announce(decision.announcement);
  // The process ended, not only a call failed.
  if (is_cut_short && moves_.percent("and-ends", 60)) lose_operator();
}

bool World::has_been_in_world(const ProcessIdentity& process) const {
  return std::ranges::any_of(
      agents_, [&](const auto& agent) { return agent->has_been_in_world && agent->identity == process; });
}

const JoinRequest* World::heard_from(const ProcessIdentity& process) const {
  const auto found = heard_.find(process.start);
  return found == heard_.end() ? nullptr : &found->second;
}

const Notice* World::notice_of(const std::string& node) const {
  const auto found = notices_seen_.find(node);
  return found == notices_seen_.end() ? nullptr : &found->second;
}

bool World::all_wait_in(const std::string& pod_uid) const {
  for (std::uint32_t local_rank = 0; local_rank < scenario_.processes_per_node; ++local_rank)
    if (!waits_.contains({pod_uid, local_rank})) return false;
  return true;
}

bool World::wait_alone_in(const std::string& pod_uid) const {
  std::uint32_t waiting = 0;
  const auto pod = pods_.find(pod_uid);
  if (pod == pods_.end() || !all_wait_in(pod_uid)) return false;
  for (const auto& agent : agents_) {
    const bool is_namesake = agent->identity.role == pod->second.pod.role &&
                             agent->identity.index == pod->second.pod.index &&
                             agent->identity.incarnation == pod->second.pod.incarnation;
    if (is_namesake && agent->pod_uid != pod_uid) return false;
    if (is_namesake && agent->state == Agent::State::kJoining && agent->asked) ++waiting;
  }
  return waiting == scenario_.processes_per_node;
}

bool World::may_be_listed(const Storage::Saved& saved) const {
  if (scenario_.tiers == Tiers::kVolume || saved.shared_since + kWhileFormed <= now_) return true;
  return std::ranges::any_of(agents_, [&](const auto& agent) {
    const bool waits = agent->state == Agent::State::kJoining && agent->asked && !agent->repeats_list;
    return waits && agent->listed >= saved.shared_since;
  });
}

bool World::is_end_at_hand() const {
  const Attempt not_own(scenario_.begins_anew ? scenario_.former_attempt : 0);
  // A former run may have gone beyond this run's end: then its last step is the end.
  std::uint64_t end = scenario_.total_steps;
  for (const auto& [id, saved] : storage_.all())
    if (id.first > not_own && !saved.is_given_up && !saved.is_removed) end = std::max(end, id.second.value());
  const auto is_last = [&](const Lineage& id) { return id.second.value() == end; };
  // A newer attempt that began before the end goes first, damaged or not: an attempt that was cut off may
  // have committed the end after it was replaced.
  const auto is_superseded = [&](const Lineage& id) {
    return std::ranges::any_of(storage_.all(), [&](const auto& other) {
      const bool is_offered = !other.second.is_given_up && !other.second.is_removed;
      return other.first.first > id.first && !is_last(other.first) && is_offered;
    });
  };
  return std::ranges::any_of(storage_.all(), [&](const auto& item) {
    const auto& [id, saved] = item;
    return is_last(id) && saved.is_sound() && saved.is_shared && may_be_listed(saved) && !is_superseded(id);
  });
}

bool World::is_any_checkpoint_offered() const {
  const Attempt not_own(scenario_.begins_anew ? scenario_.former_attempt : 0);
  std::set<Lineage> good;
  std::set<Lineage> bad;
  for (const auto& agent : agents_) {
    if (agent->state != Agent::State::kJoining || !agent->asked || agent->repeats_list) continue;
    for (const auto& entry : agent->asked->inventory) {
      const bool is_good = entry.is_complete && entry.tier != "local" && entry.attempt > not_own;
      if (is_good) good.emplace(entry.attempt, entry.step);
      if (!entry.is_complete) bad.emplace(entry.attempt, entry.step);
    }
  }
  // A process that is cut off, or has ended since, may have reported the damage.
  return std::ranges::any_of(
      good, [&](const Lineage& id) { return !bad.contains(id) && !storage_.all().at(id).is_damaged; });
}

void World::announce(const api::Announcement& announcement) {
  if (!is_open_) listening_since_ = now_;  // before that, nobody was let in
  member_server_.announce(announcement);
  if (!announcement.world.empty())
    heard_of_worlds_.try_emplace(announcement.attempt, Heard{.step = 0, .moved_at = now_});
  is_open_ = true;
}

void World::advance(bool is_chaos) {
  now_ = now_ + kTick;
  moves_.begin_moment();
  if (is_chaos) make_trouble();
  move_nodes(is_chaos);
  move_pods(is_chaos);
  storage_.finish_copies(now_);
  std::erase_if(agents_, [](const auto& agent) { return agent->state == Agent::State::kGone; });
  if (scenario_.has_agent)
    let_agents_act();
  else
    let_programs_work();
  std::erase_if(late_beats_, [&](const auto& late) {
    if (late.first > now_ || !is_open_) return false;
    if (!member_server_.refuse(late.second.process)) hear_beat(late.second);
    return true;
  });
  follow_watch();
}

void World::let_agents_act() {
  const std::size_t count = agents_.size();
  for (std::size_t i = 0; i < count; ++i)
    act(*agents_[(i + static_cast<std::size_t>(now_.since_boot / kTick)) % count]);
}

bool World::has_hung(Attempt attempt) const {
  const auto first = hung_.lower_bound({attempt, ""});
  return first != hung_.end() && first->first == attempt;
}

bool World::has_hung(Attempt attempt, const std::string& uid) const {
  return hung_.contains({attempt, uid});
}

bool World::is_done(const std::string& uid, std::uint32_t local_rank) const {
  return acknowledged_.contains({uid, local_rank}) && std::ranges::none_of(agents_, [&](const auto& agent) {
           return agent->pod_uid == uid && agent->identity.local_rank == local_rank &&
                  agent->state != Agent::State::kGone;
         });
}

bool World::has_been_done(const api::MemberStatus& member) const {
  for (std::uint32_t local_rank = 0; local_rank < scenario_.processes_per_node; ++local_rank)
    if (!ever_done_.contains({member.uid, local_rank})) return false;
  return true;
}

bool World::is_whole(const api::MemberStatus& member, Attempt attempt) const {
  if (member.is_completed) return true;
  for (std::uint32_t local_rank = 0; local_rank < scenario_.processes_per_node; ++local_rank) {
    const bool is_there = std::any_of(agents_.begin(), agents_.end(), [&](const auto& agent) {
      return agent->pod_uid == member.uid && agent->identity.local_rank == local_rank &&
             agent->is_in_a_world() && agent->assignment.attempt == attempt;
    });
    if (!is_there && !done_.contains({member.uid, local_rank})) return false;
  }
  return true;
}

std::string World::describe() const {
  std::string text =
      "at " + std::to_string(now_.since_boot / kTick) + ": " + std::string(api::name_of(job_.status.phase)) +
      " attempt " + std::to_string(job_.status.attempt.value()) +
      (job_.status.is_world_formed ? " formed" : " forming") + ", " + job_.status.message + "\n";
  for (const auto& m : job_.status.members) {
    text += "  " + m.role + " " + std::to_string(m.index) + "-i" + std::to_string(m.incarnation) + " " +
            m.uid + (m.is_completed ? " completed" : "") + (m.is_absent ? " absent" : "");
    if (m.is_leaving()) text += " successor i" + std::to_string(m.successor) + " " + m.successor_uid;
    text += "\n";
  }
  for (const auto& [name, entry] : nodes_) {
    text += "  " + name + (entry.is_dead ? " dead" : "") + (entry.takes_pods() ? "\n" : " takes no pods\n");
  }
  for (const auto& [uid, entry] : pods_) {
    text += "  pod " + entry.pod.name + " " + uid + " on " + entry.pod.node + " phase " +
            std::to_string(static_cast<int>(entry.pod.phase)) + (entry.pod.is_deleting ? " deleting" : "");
    if (const auto& seat = entry.pod.group_rank_assignment)
      text += " at " + entry.pod.address + " meets " + seat->master_address + " as " +
              std::to_string(seat->first_rank) + " of " + std::to_string(seat->world_size);
    text += "\n";
  }
  for (const auto& agent : agents_) {
    text += "  agent " + agent->identity.role + " " + std::to_string(agent->identity.index) + "-i" +
            std::to_string(agent->identity.incarnation) + " " + agent->pod_uid + " state " +
            std::to_string(static_cast<int>(agent->state)) + " attempt " +
            std::to_string(agent->assignment.attempt.value()) + " step " + std::to_string(agent->step) + "\n";
  }
  return text;
}

}  // namespace ratoon::sim
