// operator/local/members/: runs the members' processes on one machine. LocalCluster: simulates a cluster on
// this machine, where pods are process groups and nodes are only names. Each node has room for one pod, and a
// node that will be removed gets no new pod.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "operator/api/pod.h"
#include "operator/local/disk_writer.h"
#include "operator/local/members/cgroups.h"
#include "operator/local/members/node_pool.h"
#include "operator/local/members/process_group.h"

namespace ratoon::local {

class LocalCluster {
 public:
  static constexpr Duration kLogReadTimeout = std::chrono::seconds(5);
  // A Planner returns the plan with which launch() starts the processes of a pod. The pod has a UID already.
  using Planner = std::function<MemberLaunchPlan(const api::Pod& pod)>;

  // When a member has failed, its last lines are read from its log for at most `log_read_timeout`.
  LocalCluster(NodePool nodes, Planner plan, Duration log_read_timeout = kLogReadTimeout)
      : nodes_(std::move(nodes)),
        planner_(std::move(plan)),
        log_read_timeout_(log_read_timeout),
        log_reader_(log_read_timeout) {}

  // Call set_cgroups() before the first pod is created; otherwise no resource limits are enforced.
  void set_cgroups(Cgroups cgroups) { cgroups_ = std::move(cgroups); }

  [[nodiscard]] bool has_room_for(const api::Pod& pod) const { return !find_node(pod).empty(); }
  // Creates a pod and starts its processes. Does nothing if a pod with the name of `pod` exists.
  [[nodiscard]] Result<void> create(api::Pod pod);
  // Kills the processes of the pod with this `uid`. The pod is gone when all its processes have ended. With
  // `kill_at`, the processes get SIGTERM, and observe() kills them when that time has come.
  void remove(const std::string& uid, std::optional<Timestamp> kill_at = std::nullopt);
  void remove_all();
  // Sends SIGINT to the processes of all pods, like Ctrl-C.
  void interrupt_all();
  void signal_all_members(int signal) const;
  // Kills the processes of the member's newest pod, which then looks like a pod that ended by itself. The
  // member's name is "<job>-<role>-<index>", with or without its incarnation number, or "<role>-<index>".
  // Returns the killed pod's name.
  [[nodiscard]] Result<std::string> kill_member(const std::string& member);
  // Removes the node and kills all processes on it. Returns the names of the node's pods.
  [[nodiscard]] Result<std::vector<std::string>> end_node(const std::string& node);
  [[nodiscard]] NodePool& nodes() { return nodes_; }
  [[nodiscard]] const NodePool& nodes() const { return nodes_; }
  [[nodiscard]] std::vector<std::string> living_pods_on(const std::string& node) const;

  // Records the ends of processes in their pods, and forgets removed pods that have no process left.
  void observe();
  // Does the same, and kills the processes of removed pods whose time has come.
  void observe(Timestamp now);

  [[nodiscard]] std::vector<api::Pod> pods() const;
  [[nodiscard]] bool has_no_processes() const;  // no process is alive
  [[nodiscard]] nlohmann::json describe() const;

 private:
  struct PodEntry {
    api::Pod pod;
    ProcessGroup group;
    std::optional<Timestamp> kill_at{};
  };

  [[nodiscard]] std::string find_node(const api::Pod& pod) const;
  [[nodiscard]] Result<ProcessGroup> launch(const api::Pod& pod) const;
  void record_exit_code(PodEntry& entry);
  // Returns an empty text while the disk with the log does not answer.
  [[nodiscard]] std::string last_lines_of(const api::Pod& pod);
  void reap_orphans() const;

  NodePool nodes_;
  Planner planner_;
  Cgroups cgroups_;
  std::map<std::string, PodEntry> entries_;  // by name
  // Maps "role-index" to the member's last node, because a replacement should get another node.
  std::map<std::string, std::string> last_node_by_member_;
  const Duration log_read_timeout_;
  DiskWriter log_reader_;
  std::future<Result<std::string>> pending_read_;
};

// Returns a text that says that no node is free for these pods. The text is empty if `pods` is empty.
[[nodiscard]] std::string explain_lack_of_nodes(const std::vector<std::string>& pods);

}  // namespace ratoon::local
