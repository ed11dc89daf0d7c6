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

// The tensors that a rank tracks at a step; no two steps have the same. The number of bytes is slightly above
// `weight_bytes`, a multiple of 4.
inline constexpr std::size_t kSmallState = 600;
[[nodiscard]] checkpoint::LoadedTensors states_of(const checkpoint::CheckpointId& id, std::uint32_t rank,
                                                  std::size_t weight_bytes = kSmallState);

// The views refer to `tensors`, which outlives them.
[[nodiscard]] std::vector<TensorView> views_of(const checkpoint::LoadedTensors& tensors);

// The checkpoints that the log acknowledges.
[[nodiscard]] std::string text_of(const checkpoint::CheckpointId& id);
[[nodiscard]] checkpoint::CheckpointId parse_id(const std::string& text);

// The way in which a world saves: the packs of its ranks, one after the other, the commit, and then the
// removals of retention.
struct WorldSave {
  checkpoint::CheckpointId id;
  std::uint32_t ranks = 2;
  checkpoint::KeepRules rules{.last = 2};
  std::size_t weight_bytes = kSmallState;
  std::function<void()> acknowledge{};  // called once it is committed
  // The part files of each rank that the save may refer to; empty: no tensor is saved in parts.
  std::vector<checkpoint::CommittedParts> known{};
};
[[nodiscard]] Result<void> save_world(const checkpoint::RunStore& store, const WorldSave& save);

// Does the same on a ModelDisk, whose log records the acknowledgements. The caller checks errors.
struct Life {
  std::shared_ptr<ModelDisk> disk;
  std::uint32_t ranks = 2;
  checkpoint::KeepRules rules{.last = 2};
  std::size_t weight_bytes = kSmallState;
  // The weights are saved in parts, and the saves refer to the parts of the newest checkpoint.
  bool is_in_parts = false;

  [[nodiscard]] Result<void> save(const checkpoint::CheckpointId& id);
};

// The newest checkpoint that loads, as a start chooses it: a bad checkpoint is set aside, then the next one
// is tried. The fault of the recovered state, or nothing; `recovered` is empty if no checkpoint exists.
[[nodiscard]] std::optional<std::string> recover(const checkpoint::RunStore& store,
                                                 std::optional<checkpoint::CheckpointId>& recovered,
                                                 std::size_t weight_bytes = kSmallState);

// Damage that no crash may leave. A process of an old attempt may commit late a checkpoint whose packs a
// newer attempt has removed: that counts as no checkpoint.
[[nodiscard]] std::optional<std::string> find_damage(const checkpoint::Inventory& inventory);

// One of `paths` that belongs to no checkpoint with a manifest, so that no process will ever remove it.
[[nodiscard]] std::optional<std::string> find_litter(const checkpoint::RunStore& store,
                                                     const std::vector<std::string>& paths);

}  // namespace ratoon::test
