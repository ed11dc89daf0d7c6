#include "tests/property/operator/simulated_group.h"

#include <algorithm>
#include <variant>

#include "operator/runtime/jobs/status_debounce.h"
#include "tests/property/operator/scheduling.h"
#include "tests/support/operator_builders.h"

namespace ratoon::sim {
namespace {

constexpr int kNodes = 5;
constexpr int kLateMax = 4;  // two seconds

}  // namespace

GroupWorld::GroupWorld(std::uint64_t seed) : dice_(seed), now_(test::at_seconds(100)) {
  job_ = test::new_job(static_cast<std::uint32_t>(1 + dice_.below(4)));
  job_.meta.uid = "job";
  job_.spec.roles[0].has_agent = false;
  job_.spec.disruption_policy.avoid_node_seconds = static_cast<std::uint32_t>(dice_.below(3) * 10);
  job_.spec.restart_policy.losses_without_step_max = 1000;
  fails_by_itself_ = dice_.percent(40);
  job_.spec.restart_policy.restarts_max = fails_by_itself_ ? 1000 : 0;
  steps_needed_ = 20 + dice_.below(60);
  for (int i = 1; i <= kNodes; ++i) {
    const std::string name = "node-" + std::to_string(i);
    nodes_[name] = {.name = name, .taints = {}};
  }
}

core::Observation GroupWorld::observe() const {
  core::Observation seen{.job = job_, .wall_now = wall_now()};
  runtime::restore_pod_placement(roster_, seen.job.status.members);
  for (const auto& [uid, pod] : pods_seen_) seen.pods.push_back(pod);
  for (const auto& [name, node] : nodes_) seen.nodes.push_back(node);
  seen.listening_since = test::at_seconds(0);
  return seen;
}

GroupWorld::Meeting GroupWorld::meeting_of(const api::Pod& pod) {
  return pod.group_rank_assignment->master_address.empty() ? pod.address
                                                           : pod.group_rank_assignment->master_address;
}

std::vector<GroupWorld::Entry*> GroupWorld::living(const Meeting& meeting) {
  std::vector<Entry*> found;
  for (auto& [uid, entry] : pods_)
    if (entry.lives && meeting_of(entry.pod) == meeting) found.push_back(&entry);
  return found;
}

void GroupWorld::end(Entry& entry, int exit_code) {
  entry.lives = false;
  if (dead_nodes_.contains(entry.pod.node)) return;  // nobody says so
  entry.pod.phase = exit_code == 0 ? api::PodPhase::kSucceeded : api::PodPhase::kFailed;
  entry.pod.exit_code = exit_code;
  entry.pod.ended_at = wall_now();
}

void GroupWorld::trouble_for(Entry& entry) {
  switch (dice_.below(5)) {
    case 0:
      return end(entry, 137);
    case 1:
      entry.pod.is_evicted = true;
      return end(entry, dice_.pick({0, 1, 143}));
    case 2:
      entry.pod.is_deleting = true;
      entry.pod.ends_at = WallTime{wall_now().since_epoch + std::chrono::seconds(5)};
      entry.gone_at = now_ + dice_.ticks(2, 10);
      if (dice_.percent(50)) end(entry, dice_.pick({0, 1, 143}));
      return;
    case 3: {
      const auto is_it = [&](const api::MemberStatus& member) { return member.uid == entry.pod.uid; };
      const bool is_known =
          std::ranges::any_of(job_.status.members, is_it) || std::ranges::any_of(roster_, is_it);
      if (is_known || entry.pod.index == 0) pods_.erase(entry.pod.uid);
      return;
    }
    default:
      if (!fails_by_itself_) return;
      ++own_failures_;
      end(entry, dice_.pick({1, 139}));
  }
}

void GroupWorld::make_trouble() {
  for (auto it = pods_.begin(); it != pods_.end();) {
    Entry& entry = (it++)->second;  // it may vanish
    if (entry.lives && !dead_nodes_.contains(entry.pod.node) && dice_.percent(1)) trouble_for(entry);
  }
}

// Notices are not taken back before their effects on pods are known.
bool GroupWorld::is_all_news_told(const std::string& node) const {
  return std::ranges::all_of(pods_, [&](const auto& item) {
    const auto known = pods_seen_.find(item.first);
    return item.second.pod.node != node || (known != pods_seen_.end() && known->second == item.second.pod);
  });
}

void GroupWorld::move_nodes(bool is_chaos) {
  for (auto& [name, node] : nodes_) {
    if (dead_nodes_.contains(name)) {
      if (!node.is_lost && dice_.percent(10)) node.is_lost = true;
      if (node.is_lost && dice_.percent(5)) {  // it is made anew, and its pods are gone
        std::erase_if(pods_, [&](const auto& item) { return item.second.pod.node == name; });
        dead_nodes_.erase(name);
        node.is_lost = false;
      }
    } else if (is_chaos && dice_.percent(1) && dead_nodes_.empty()) {
      dead_nodes_.insert(name);
      for (auto& [uid, entry] : pods_)
        if (entry.pod.node == name) entry.lives = false;
    } else if (is_chaos && dice_.percent(1)) {
      node.is_unschedulable = true;
    } else if (node.is_unschedulable && is_chaos && dice_.percent(10)) {
      for (auto& [uid, entry] : pods_)  // they take SIGTERM for their end
        if (entry.lives && entry.pod.node == name) end(entry, 0);
    } else if (node.is_unschedulable && !is_chaos && is_all_news_told(name) && dice_.percent(2)) {
      node.is_unschedulable = false;
    }
  }
}

void GroupWorld::move_pods() {
  std::erase_if(pods_, [&](const auto& item) {
    return item.second.pod.is_deleting && now_ >= item.second.gone_at &&
           !dead_nodes_.contains(item.second.pod.node);
  });
  for (auto& [uid, entry] : pods_) {
    api::Pod& pod = entry.pod;
    if (pod.phase != api::PodPhase::kPending || pod.is_deleting || now_ < entry.runs_at) continue;
    if (dead_nodes_.contains(pod.node)) continue;
    if (pod.address.empty()) {  // its network is there a moment before its program
      pod.address = "10.0.0." + pod.uid;
      continue;
    }
    pod.phase = api::PodPhase::kRunning;
    entry.lives = true;
  }
}

// Peers of a vanished program: those that notice fail, the others wait for ever.
void GroupWorld::suffer(const Meeting& meeting) {
  for (Entry* entry : living(meeting))
    if (dice_.percent(30) && dead_nodes_.empty()) end(*entry, 1);
}

void GroupWorld::work() {
  std::set<Meeting> meetings;
  for (const auto& [uid, entry] : pods_)
    if (entry.lives) meetings.insert(meeting_of(entry.pod));
  if (meetings.size() > 1) broken_ = "two groups run at once";
  for (const auto& meeting : meetings) {
    const auto ranks = living(meeting);
    std::set<std::uint32_t> numbers;
    for (const Entry* rank : ranks) numbers.insert(rank->pod.group_rank_assignment->first_rank);
    const bool is_whole = numbers.size() == ranks.front()->pod.group_rank_assignment->world_size;
    const bool has_ended = is_trained() && met_.contains(meeting);
    if (is_whole) met_.insert(meeting);
    if (has_ended) {
      for (Entry* rank : ranks)
        if (dice_.percent(40)) end(*rank, 0);
    } else if (is_whole) {
      ++steps_;
    } else if (met_.contains(meeting)) {
      suffer(meeting);
    }
  }
}

void GroupWorld::advance(bool is_chaos) {
  now_ = now_ + kTick;
  if (is_chaos) make_trouble();
  move_nodes(is_chaos);
  move_pods();
  work();
  // The news of each pod arrives by itself, within the time that a failure is given.
  for (auto& [uid, entry] : pods_) {
    if (pods_seen_.contains(uid) && dice_.percent(is_chaos ? 30 : 0) && ++entry.late_by <= kLateMax) continue;
    pods_seen_[uid] = entry.pod;
    entry.late_by = 0;
  }
  std::erase_if(pods_seen_, [&](const auto& item) { return !pods_.contains(item.first); });
}

// A pod that is made and gone, with the only operator that knew of it, cannot be distinguished from a pod
// that was never made. The first pod is an exception, because the others got its address.
bool GroupWorld::can_be_forgotten(const api::MemberStatus& member) const {
  return member.uid.empty() || member.index == 0 || pods_.contains(member.uid);
}

void GroupWorld::end_operator() {
  if (!std::ranges::all_of(roster_, [&](const auto& member) { return can_be_forgotten(member); })) return;
  forget_roster();
}

void GroupWorld::forget_roster() {
  roster_.clear();
  news_since_.reset();
}

// The call comes as late as the operator allows.
void GroupWorld::store(const api::TrainingJobStatus& decided, bool is_chaos) {
  const auto patience = runtime::status_debounce_for(job_.spec, job_.status, decided);
  if (is_chaos && patience.has_change) {
    if (!news_since_) news_since_ = now_;
    if (now_ < runtime::status_write_time(patience, status_stored_, *news_since_)) {
      roster_ = decided.members;
      return;
    }
  }
  if (patience.has_change) status_stored_ = now_;
  job_.status = decided;
  forget_roster();
}

void GroupWorld::carry_out(const core::Decision& decision, bool is_chaos) {
  if (is_chaos && dice_.percent(10)) return;
  store(decision.status, is_chaos);
  for (const auto& action : decision.actions) {
    if (is_chaos && dice_.percent(5)) return;
    if (const auto* remove = std::get_if<core::DeletePod>(&action)) {
      const auto found = pods_.find(remove->uid);
      if (found == pods_.end()) continue;
      found->second.pod.is_deleting = true;
      found->second.gone_at = now_ + dice_.ticks(0, 4);
      if (dice_.percent(50))
        found->second.lives = false;  // the others take no signal, and run until they are killed
      pods_seen_[remove->uid] = found->second.pod;
    }
    const auto* create = std::get_if<core::CreatePod>(&action);
    if (create == nullptr) continue;
    const bool is_there = std::ranges::any_of(
        pods_, [&](const auto& item) { return item.second.pod.name == create->pod.name; });
    if (is_there) continue;
    Entry made{.pod = create->pod, .runs_at = now_ + dice_.ticks(0, 8), .gone_at = {}};
    made.pod.rank0_pod_uid = made.pod.group_rank_assignment->master_uid;
    made.pod.uid = std::to_string(++made_);
    std::vector<api::Pod> there;
    for (const auto& [uid, entry] : pods_) there.push_back(entry.pod);
    for (const auto& [name, node] : nodes_) {
      const bool takes_pods =
          !node.is_lost && !node.is_unschedulable && is_open(create->avoid_nodes, name, there);
      if (takes_pods && (made.pod.node.empty() || dice_.percent(40))) made.pod.node = name;
    }
    if (made.pod.node.empty()) made.pod.node = "spare";  // of which nothing is ever told
    pods_seen_[made.pod.uid] = made.pod;
    pods_.emplace(made.pod.uid, std::move(made));
  }
}

std::string GroupWorld::describe() const {
  std::string text = std::to_string(seconds(now_.since_boot)) + " s, step " + std::to_string(steps_) + ": " +
                     job_.status.message + "\n";
  for (const auto& [uid, entry] : pods_)
    text += "  " + entry.pod.name + " on " + entry.pod.node + " phase " +
            std::to_string(static_cast<int>(entry.pod.phase)) + (entry.lives ? " lives" : "") +
            (entry.pod.is_deleting ? " deleting" : "") + "\n";
  return text;
}

}  // namespace ratoon::sim
