// The lives of a world on a ModelDisk, as tests of the checkpoint engine play them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/src/checkpoint/commit/run_store.h"
#include "tests/support/crash/model_disk.h"

namespace ratoon::test {

// What a rank tracks at a step; no two are the same. A few bytes more than `weight_bytes`, a multiple of 4.
inline constexpr std::size_t kSmallState = 600;
[[nodiscard]] checkpoint::LoadedTensors states_of(const checkpoint::CheckpointId& id, std::uint32_t rank,
                                                  std::size_t weight_bytes = kSmallState);

// They look at `tensors`, which outlives them.
[[nodiscard]] std::vector<TensorView> views_of(const checkpoint::LoadedTensors& tensors);

// As acknowledged in the log.
[[nodiscard]] std::string text_of(const checkpoint::CheckpointId& id);
[[nodiscard]] checkpoint::CheckpointId parse_id(const std::string& text);

// How a world saves: the packs of its ranks, one after the other, the commit, and then what the rules let go.
struct WorldSave {
  checkpoint::CheckpointId id;
  std::uint32_t ranks = 2;
  checkpoint::KeepRules rules{.last = 2};
  std::size_t weight_bytes = kSmallState;
  std::function<void()> acknowledge{};  // called once it is committed
};
[[nodiscard]] Result<void> save_world(const checkpoint::RunStore& store, const WorldSave& save);

// The same on a ModelDisk, in whose log what was promised stands. Errors are the caller's to expect.
struct Life {
  std::shared_ptr<ModelDisk> disk;
  std::uint32_t ranks = 2;
  checkpoint::KeepRules rules{.last = 2};
  std::size_t weight_bytes = kSmallState;

  [[nodiscard]] Result<void> save(const checkpoint::CheckpointId& id);
};

// The newest checkpoint that loads, as a start chooses it: what is bad is set aside, then the next. What is
// wrong with that, or nothing; `recovered` is empty where nothing is there.
[[nodiscard]] std::optional<std::string> recover(const checkpoint::RunStore& store,
                                                 std::optional<checkpoint::CheckpointId>& recovered,
                                                 std::size_t weight_bytes = kSmallState);

// Damage that no crash may leave. A zombie may commit late what a newer attempt has swept: that is none.
[[nodiscard]] std::optional<std::string> find_damage(const checkpoint::Inventory& inventory);

// One of `paths` that belongs to no checkpoint that has a name, so that nobody will ever remove it.
[[nodiscard]] std::optional<std::string> find_litter(const checkpoint::RunStore& store,
                                                     const std::vector<std::string>& paths);

}  // namespace ratoon::test
