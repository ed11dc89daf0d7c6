// NodePool: the simulated nodes of a local run, which are only names. A simulated node can get a preemption
// notice, and it can be removed. Pure: the caller must kill the processes of a removed node.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "operator/api/node.h"

namespace ratoon::local {

class NodePool {
 public:
  // Makes node-1 to node-<size>. As in a cloud's node group, a new node replaces each node that will be
  // removed, so that there are always `size` nodes without an announced end.
  explicit NodePool(std::size_t size);
  // Makes an empty pool: only nodes that add() adds will exist.
  NodePool() = default;

  [[nodiscard]] static Result<void> check_name(std::string_view name);
  // Adds a node; does nothing if a node with this name exists.
  void add(const std::string& name);
  // Announces that the node will be removed at `end`. If two times were announced, the earlier one counts.
  [[nodiscard]] Result<void> announce_end(const std::string& name, Timestamp end, WallTime wall_clock_end);
  [[nodiscard]] Result<void> remove(const std::string& name);

  [[nodiscard]] std::optional<Timestamp> end_of(
      const std::string& name) const;                                         // nothing: it stays, or is gone
  [[nodiscard]] std::vector<std::string> expired_nodes(Timestamp now) const;  // nodes whose end has come
  [[nodiscard]] std::optional<Timestamp> next_end_time() const;

  [[nodiscard]] std::vector<std::string> stable_nodes() const;  // nodes without an announced end
  [[nodiscard]] std::vector<api::Node> nodes() const;           // as decisions see them
  [[nodiscard]] nlohmann::json describe() const;

 private:
  struct NodeEntry {
    std::string name;
    std::optional<Timestamp> end{};
    WallTime wall_clock_end{};
  };

  [[nodiscard]] Result<std::vector<NodeEntry>::iterator> find(const std::string& name);
  void refill();

  std::size_t target_size_ = 0;   // the number of stable nodes to keep; 0: nodes are not replaced
  std::uint64_t nodes_made_ = 0;  // no name is used twice
  std::vector<NodeEntry> entries_;
};

}  // namespace ratoon::local
