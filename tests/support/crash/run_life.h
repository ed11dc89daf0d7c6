// The lives of a world on a ModelDisk, as tests of the checkpoint engine play them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/src/checkpoint/run_store.h"
#include "tests/support/crash/model_disk.h"

namespace ratoon::test {

// What a rank tracks at a step; no two are the same.
[[nodiscard]] checkpoint::LoadedTensors states_of(const checkpoint::CheckpointId& id, std::uint32_t rank);

// They look at `tensors`, which outlives them.
[[nodiscard]] std::vector<TensorView> views_of(const checkpoint::LoadedTensors& tensors);

// As acknowledged in the log.
[[nodiscard]] std::string text_of(const checkpoint::CheckpointId& id);
[[nodiscard]] checkpoint::CheckpointId parse_id(const std::string& text);

// It saves, commits and retires. Errors are the caller's to expect; what was promised is in the disk's log.
struct Life {
  std::shared_ptr<ModelDisk> disk;
  std::uint32_t ranks = 2;
  checkpoint::KeepRules rules{.last = 2};

  [[nodiscard]] Result<void> save(const checkpoint::CheckpointId& id);
};

// The newest checkpoint that loads, as a start chooses it: what is bad is set aside, then the next. What is
// wrong with that, or nothing; `recovered` is empty where nothing is there.
[[nodiscard]] std::optional<std::string> recover(const checkpoint::RunStore& store,
                                                 std::optional<checkpoint::CheckpointId>& recovered);

// A file that belongs to no checkpoint that has a name, so that nobody will ever remove it.
[[nodiscard]] std::optional<std::string> find_litter(const checkpoint::RunStore& store,
                                                     const ModelDisk& disk);

}  // namespace ratoon::test
