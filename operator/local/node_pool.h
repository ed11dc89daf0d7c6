// NodePool: the nodes that a local run pretends to have. They are names; each can be told that it will go,
// and go. Pure: what ends with a node is for others to end.
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
  // node-1 to node-<size>. Where one will go another comes, as a cloud's node group does it: so many are
  // always there to stay.
  explicit NodePool(std::size_t size);
  // Only those that are added.
  NodePool() = default;

  [[nodiscard]] static Result<void> check_name(std::string_view name);
  // Nothing happens if it is there.
  void add(const std::string& name);
  // The node will be gone by then; of two such words the sooner one counts.
  [[nodiscard]] Result<void> announce_end(const std::string& name, Timestamp end, WallTime shown_end);
  [[nodiscard]] Result<void> remove(const std::string& name);

  [[nodiscard]] std::optional<Timestamp> end_of(
      const std::string& name) const;                               // nothing: it stays, or is gone
  [[nodiscard]] std::vector<std::string> due(Timestamp now) const;  // their end has come
  [[nodiscard]] std::optional<Timestamp> next_due() const;

  [[nodiscard]] std::vector<std::string> stable() const;  // those that nobody announced the end of
  [[nodiscard]] std::vector<api::Node> nodes() const;     // as decisions see them
  [[nodiscard]] nlohmann::json describe() const;

 private:
  struct Entry {
    std::string name;
    std::optional<Timestamp> end{};
    WallTime shown_end{};
  };

  [[nodiscard]] Result<std::vector<Entry>::iterator> find(const std::string& name);
  void refill();

  std::size_t size_ = 0;    // kept up; 0: what goes is not replaced
  std::uint64_t made_ = 0;  // no name is used twice
  std::vector<Entry> entries_;
};

}  // namespace ratoon::local
