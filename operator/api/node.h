// A node, reduced to what tells whether it will stay.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"

namespace ratoon::api {

struct Taint {
  std::string key;
  std::string effect;
  std::optional<WallTime> added_at{};  // where the platform says

  friend bool operator==(const Taint&, const Taint&) = default;
};

struct Node {
  std::string name;
  std::string zone{};  // that fails as a whole at times; empty: nobody says
  std::vector<Taint> taints;
  bool is_unschedulable = false;  // cordoned
  bool is_lost = false;           // the platform has not heard it for a while, or no longer knows it
  bool is_ready = true;           // by its kubelet's word, which may be late and may be wrong about its pods
  WallTime last_heartbeat;        // by the node's own clock
  bool is_deleting = false;       // or gone already, with pods of members still there
  bool is_shutting_down = false;  // in good order: its pods get their grace, and a signal each
  std::optional<WallTime> ends_at{};  // where whoever ends it has said when

  friend bool operator==(const Node&, const Node&) = default;
};

}  // namespace ratoon::api
