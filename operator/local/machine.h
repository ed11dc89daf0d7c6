// Machine: this computer in the role of a cluster. Pods are process groups, nodes are names; each node holds
// one pod.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

#include "operator/api/pod.h"
#include "operator/local/process_group.h"

namespace ratoon::local {

class Machine {
 public:
  // `plan` says how to start the processes of a pod that has its UID.
  using Planner = std::function<LaunchPlan(const api::Pod& pod)>;

  Machine(std::size_t nodes, Planner plan) : nodes_(nodes), plan_(std::move(plan)) {}

  [[nodiscard]] bool has_room_for(const api::Pod& pod) const { return !find_node(pod).empty(); }
  // Nothing happens if a pod of that name exists.
  [[nodiscard]] Result<void> create(api::Pod pod);
  // Kills the pod with that UID; it is gone once its processes are.
  void remove(const std::string& uid);
  void remove_all();
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

  std::size_t nodes_;
  Planner plan_;
  std::map<std::string, Entry> entries_;             // by name
  std::map<std::string, std::string> last_node_of_;  // "role-index" to node: a replacement goes elsewhere
};

}  // namespace ratoon::local
