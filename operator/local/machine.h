// Machine: this computer in the role of a cluster. Pods are process groups, nodes are names; each node holds
// one pod, and none that is about to go takes a new one.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

#include "operator/api/pod.h"
#include "operator/local/cgroups.h"
#include "operator/local/node_pool.h"
#include "operator/local/process_group.h"

namespace ratoon::local {

class Machine {
 public:
  // `plan` says how to start the processes of a pod that has its UID.
  using Planner = std::function<LaunchPlan(const api::Pod& pod)>;

  Machine(NodePool nodes, Planner plan) : nodes_(std::move(nodes)), plan_(std::move(plan)) {}

  // Before the first pod: what holds them to their limits. Without it nothing does.
  void hold_with(Cgroups cgroups) { cgroups_ = std::move(cgroups); }

  [[nodiscard]] bool has_room_for(const api::Pod& pod) const { return !find_node(pod).empty(); }
  // Nothing happens if a pod of that name exists.
  [[nodiscard]] Result<void> create(api::Pod pod);
  // Kills the pod with that UID; it is gone once its processes are.
  void remove(const std::string& uid);
  void remove_all();
  // Every process gets Ctrl-C.
  void interrupt_all();
  // Kills the processes of the newest pod of that member, called "<job>-<role>-<index>", with or without its
  // incarnation, or "<role>-<index>"; to those who watch it, it ended by itself. Returns the pod's name.
  [[nodiscard]] Result<std::string> kill_member(const std::string& member);
  // The node is gone, and with it every process on it. Returns the names of the pods that it took along.
  [[nodiscard]] Result<std::vector<std::string>> end_node(const std::string& node);
  [[nodiscard]] NodePool& nodes() { return nodes_; }
  [[nodiscard]] const NodePool& nodes() const { return nodes_; }
  [[nodiscard]] std::vector<std::string> living_pods_on(const std::string& node) const;

  // Takes note of processes that ended and forgets removed pods that are gone.
  void observe();

  [[nodiscard]] std::vector<api::Pod> pods() const;
  [[nodiscard]] bool is_quiet() const;  // no process lives
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
  std::map<std::string, Entry> entries_;             // by name
  std::map<std::string, std::string> last_node_of_;  // "role-index" to node: a replacement goes elsewhere
};

}  // namespace ratoon::local
