// operator/local/members/: a member's processes on one machine. LocalCluster: this computer as a cluster.
// Pods are process groups, and nodes are names. Each node holds one pod, and a node that will end takes no
// new pod.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

#include "operator/api/pod.h"
#include "operator/local/members/cgroups.h"
#include "operator/local/members/node_pool.h"
#include "operator/local/members/process_group.h"

namespace ratoon::local {

class LocalCluster {
 public:
  // `plan` returns how to start the processes of a pod with a UID.
  using Planner = std::function<MemberLaunchPlan(const api::Pod& pod)>;

  LocalCluster(NodePool nodes, Planner plan) : nodes_(std::move(nodes)), plan_(std::move(plan)) {}

  // Call this before the first pod. If the function is not called, no limits are enforced.
  void set_cgroups(Cgroups cgroups) { cgroups_ = std::move(cgroups); }

  [[nodiscard]] bool has_room_for(const api::Pod& pod) const { return !find_node(pod).empty(); }
  // Does nothing if a pod of that name exists.
  [[nodiscard]] Result<void> create(api::Pod pod);
  // Kills the pod with that UID. The pod no longer exists once its processes have ended.
  void remove(const std::string& uid);
  void remove_all();
  // Sends SIGINT to all processes, like Ctrl-C.
  void interrupt_all();
  void send_to_all(int signal) const;
  // Kills the processes of the newest pod of that member. The name may be "<job>-<role>-<index>", with or
  // without the incarnation, or "<role>-<index>". The pod then looks as if it had ended by itself. Returns
  // its name.
  [[nodiscard]] Result<std::string> kill_member(const std::string& member);
  // Ends the node and all processes on it. Returns the names of its pods.
  [[nodiscard]] Result<std::vector<std::string>> end_node(const std::string& node);
  [[nodiscard]] NodePool& nodes() { return nodes_; }
  [[nodiscard]] const NodePool& nodes() const { return nodes_; }
  [[nodiscard]] std::vector<std::string> living_pods_on(const std::string& node) const;

  // Records processes that have ended, and forgets removed pods without processes.
  void observe();

  [[nodiscard]] std::vector<api::Pod> pods() const;
  [[nodiscard]] bool is_quiet() const;  // no process is alive
  [[nodiscard]] nlohmann::json describe() const;

 private:
  struct Entry {
    api::Pod pod;
    ProcessGroup group;
  };

  [[nodiscard]] std::string find_node(const api::Pod& pod) const;
  [[nodiscard]] Result<ProcessGroup> launch(const api::Pod& pod) const;
  void note_end(Entry& entry);
  void reap_adopted() const;

  NodePool nodes_;
  Planner plan_;
  Cgroups cgroups_;
  std::map<std::string, Entry> entries_;  // by name
  // Maps "role-index" to a node, because a replacement prefers another node.
  std::map<std::string, std::string> last_node_of_;
};

}  // namespace ratoon::local
