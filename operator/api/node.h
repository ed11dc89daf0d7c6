// A node, reduced to what tells whether it will stay.
#pragma once

#include <string>
#include <vector>

#include "base/core/clock.h"

namespace ratoon::api {

struct Taint {
  std::string key;
  std::string effect;

  friend bool operator==(const Taint&, const Taint&) = default;
};

struct Node {
  std::string name;
  std::vector<Taint> taints;
  bool is_unschedulable = false;  // cordoned
  bool is_ready = true;           // as far as the platform knows, which hears of a death in a minute or so
  WallTime last_heartbeat;        // by the node's own clock
  bool is_deleting = false;

  friend bool operator==(const Node&, const Node&) = default;
};

}  // namespace ratoon::api
