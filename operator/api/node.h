// A Kubernetes node, reduced to the facts from which the operator decides whether the node will stay.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/core/clock.h"

namespace ratoon::api {

struct Taint {
  std::string key;
  std::string effect;
  std::optional<WallTime> added_at{};  // if the platform reports it
  std::string value{};

  friend bool operator==(const Taint&, const Taint&) = default;
};

struct NodeCondition {
  std::string type;
  std::string status;               // True, False or Unknown
  std::optional<WallTime> since{};  // the time at which it got this status

  friend bool operator==(const NodeCondition&, const NodeCondition&) = default;
};

// The labels, annotations and conditions that the rules about notices read. A Node has only the facts that
// rules read, so that changes of other facts cause no decision.
struct NodeFactKeys {
  std::set<std::string> labels{};
  std::set<std::string> annotations{};
  std::set<std::string> conditions{};
};

struct Node {
  std::string name;
  std::string zone{};  // zones can fail as a whole; empty: unknown
  std::vector<Taint> taints;
  bool is_unschedulable = false;  // cordoned
  bool is_lost = false;           // the platform has had no contact for a while, or has deleted it
  bool is_ready = true;  // as its kubelet reports it; the report may be late, and may be wrong about the pods
  WallTime last_heartbeat;            // by the node's own clock
  bool is_deleting = false;           // or already deleted, while pods of members are still on it
  bool is_shutting_down = false;      // gracefully: each pod receives a signal and its grace period
  std::optional<WallTime> ends_at{};  // if the end is announced with a time
  std::optional<WallTime> shutting_down_since{};
  std::map<std::string, std::string> labels{};       // only those of NodeFactKeys
  std::map<std::string, std::string> annotations{};  // as well
  std::vector<NodeCondition> conditions{};           // as well

  friend bool operator==(const Node&, const Node&) = default;
};

// Identifies a pod of the job by the values of its labels.
struct MemberPodKey {
  std::string role;
  std::uint32_t index = 0;
  std::uint32_t incarnation = 0;

  friend bool operator==(const MemberPodKey&, const MemberPodKey&) = default;
};

// A node on which the operator must not place a new pod.
struct NodeToAvoid {
  std::string name;
  std::vector<MemberPodKey> pods{};               // pods of the job that are still on the node
  std::vector<Taint> scheduler_avoided_taints{};  // taints by which the scheduler avoids the node already

  friend bool operator==(const NodeToAvoid&, const NodeToAvoid&) = default;
};

}  // namespace ratoon::api
