#include "operator/local/members/local_cluster.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include "base/core/child_process.h"
#include "base/core/split_join.h"
#include "operator/api/training_job.h"
#include "operator/local/folder/last_lines.h"

namespace ratoon::local {
namespace {

constexpr int kSigkillExitCode = 128 + 9;

std::string role_and_index_of(const api::Pod& pod) {
  return pod.role + "-" + std::to_string(pod.index);
}

std::string_view phase_name_of(const api::Pod& pod) {
  if (pod.is_deleting) return "Terminating";
  switch (pod.phase) {
    case api::PodPhase::kPending:
      return "Pending";
    case api::PodPhase::kRunning:
      return "Running";
    case api::PodPhase::kSucceeded:
      return "Succeeded";
    case api::PodPhase::kFailed:
      return "Failed";
  }
  return "Unknown";
}

}  // namespace

std::string LocalCluster::find_node(const api::Pod& pod) const {
  std::set<std::string> taken;
  for (const auto& [name, entry] : entries_) {
    if (!entry.group.has_ended()) taken.insert(entry.pod.node);
  }
  const auto last = last_node_by_member_.find(role_and_index_of(pod));
  const std::string avoided = last == last_node_by_member_.end() ? "" : last->second;
  std::string fallback;
  for (const std::string& node : nodes_.stable_nodes()) {
    if (taken.contains(node)) continue;
    if (node != avoided) return node;
    fallback = node;
  }
  return fallback;
}

Result<void> LocalCluster::create(api::Pod pod) {
  if (entries_.contains(pod.name)) return {};
  pod.node = find_node(pod);
  if (pod.node.empty()) return Error(ErrorKind::kUnavailable, "no free node for " + pod.name);
  pod.uid = pod.name + "@" + pod.node;
  pod.address = "127.0.0.1";
  auto group = launch(pod);
  if (!group) return group.error().with_context(pod.name);
  pod.phase = api::PodPhase::kRunning;
  last_node_by_member_[role_and_index_of(pod)] = pod.node;
  const std::string name = pod.name;
  entries_.emplace(name, PodEntry{std::move(pod), std::move(*group)});
  return {};
}

Result<ProcessGroup> LocalCluster::launch(const api::Pod& pod) const {
  MemberLaunchPlan plan = planner_(pod);
  auto command = cgroups_.make_confined_command(pod.name, plan.limits, std::move(plan.command),
                                                environment_with(plan.environments.front()));
  if (!command) return command.error();
  plan.command = *std::move(command);
  return ProcessGroup::launch(plan);
}

void LocalCluster::remove(const std::string& uid, std::optional<Timestamp> kill_at) {
  for (auto& [name, entry] : entries_) {
    if (entry.pod.uid != uid) continue;
    entry.pod.is_deleting = true;
    entry.kill_at = kill_at;
    if (kill_at)
      entry.group.terminate();
    else
      entry.group.kill();
  }
}

void LocalCluster::remove_all() {
  for (auto& [name, entry] : entries_) {
    entry.pod.is_deleting = true;
    entry.group.kill();
  }
}

void LocalCluster::interrupt_all() {
  for (auto& [name, entry] : entries_) entry.group.interrupt();
}

void LocalCluster::signal_all_members(int signal) const {
  for (const auto& [name, entry] : entries_) entry.group.send(signal);
}

Result<std::string> LocalCluster::kill_member(const std::string& member) {
  PodEntry* newest = nullptr;
  std::string known;
  for (auto& [name, entry] : entries_) {
    if (entry.group.has_ended() || entry.pod.is_deleting) continue;
    known += (known.empty() ? "" : ", ") + name;
    const std::string without_incarnation = name.substr(0, name.rfind("-i"));
    if (member != name && member != without_incarnation && member != role_and_index_of(entry.pod)) continue;
    if (newest == nullptr || newest->pod.incarnation < entry.pod.incarnation) newest = &entry;
  }
  if (newest == nullptr) {
    return Error(ErrorKind::kNotFound, "no member '" + member + "' is running; there " +
                                           (known.empty() ? "is none" : "are " + known));
  }
  newest->group.kill();
  return newest->pod.name;
}

Result<std::vector<std::string>> LocalCluster::end_node(const std::string& node) {
  auto taken_along = living_pods_on(node);
  if (auto removed = nodes_.remove(node); !removed) return removed.error();
  for (const auto& name : taken_along) entries_.at(name).group.kill();
  return taken_along;
}

std::vector<std::string> LocalCluster::living_pods_on(const std::string& node) const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_)
    if (entry.pod.node == node && !entry.group.has_ended()) names.push_back(name);
  return names;
}

void LocalCluster::observe(Timestamp now) {
  for (auto& [name, entry] : entries_)
    if (entry.kill_at && *entry.kill_at <= now) entry.group.kill();
  observe();
}

void LocalCluster::observe() {
  for (auto& [name, entry] : entries_) {
    entry.group.reap();
    if (entry.group.has_ended() && !entry.pod.has_ended()) record_exit_code(entry);
  }
  reap_orphans();
  std::erase_if(entries_,
                [](const auto& item) { return item.second.pod.is_deleting && item.second.pod.has_ended(); });
}

// Reaps orphaned processes, which this process inherits if it is the first process of a container.
void LocalCluster::reap_orphans() const {
  const auto is_ours = [this](pid_t pid) {
    return std::ranges::any_of(entries_, [pid](const auto& item) {
      return std::ranges::find(item.second.group.running_pids(), pid) !=
             item.second.group.running_pids().end();
    });
  };
  siginfo_t info{};
  while (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0 &&
         !is_ours(info.si_pid)) {
    ::waitpid(info.si_pid, nullptr, WNOHANG);
    info = {};
  }
}

void LocalCluster::record_exit_code(PodEntry& entry) {
  api::Pod& pod = entry.pod;
  pod.exit_code = entry.group.exit_code();
  pod.phase = *pod.exit_code == 0 ? api::PodPhase::kSucceeded : api::PodPhase::kFailed;
  if (*pod.exit_code != 0) pod.last_lines = last_lines_of(pod);
  // If the exit code is not kSigkillExitCode, the kernel killed at most a child process of the trainer, and
  // not the trainer.
  if (*pod.exit_code == kSigkillExitCode && cgroups_.was_out_of_memory(pod.name))
    pod.end_reasons = {"OOMKilled"};
  cgroups_.remove(pod.name);
}

std::string LocalCluster::last_lines_of(const api::Pod& pod) {
  // Members that fail together have their logs on one disk: wait for a disk that hangs only once.
  const bool hangs =
      pending_read_.valid() && pending_read_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  if (hangs) return "";
  pending_read_ = log_reader_.begin<std::string>([path = planner_(pod).log_path]() -> Result<std::string> {
    return read_last_lines(path, api::kLastLinesBytesMax);
  });
  if (pending_read_.wait_for(log_read_timeout_) != std::future_status::ready) return "";
  return pending_read_.get().value_or("");
}

std::vector<api::Pod> LocalCluster::pods() const {
  std::vector<api::Pod> pods;
  for (const auto& [name, entry] : entries_) pods.push_back(entry.pod);
  return pods;
}

bool LocalCluster::has_no_processes() const {
  return std::all_of(entries_.begin(), entries_.end(),
                     [](const auto& item) { return item.second.group.has_ended(); });
}

nlohmann::json LocalCluster::describe() const {
  nlohmann::json members = nlohmann::json::array();
  for (const auto& [name, entry] : entries_) {
    members.push_back({{"name", name},
                       {"node", entry.pod.node},
                       {"phase", phase_name_of(entry.pod)},
                       {"pids", entry.group.running_pids()}});
  }
  return members;
}

std::string explain_lack_of_nodes(const std::vector<std::string>& pods) {
  return pods.empty() ? "" : "no node is free for " + join(pods, ", ") + " yet";
}

}  // namespace ratoon::local
