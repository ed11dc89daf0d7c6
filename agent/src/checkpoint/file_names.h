// Every file name of a run's folder, and the parser of those that are found there. Names are immutable: a
// file is created once and only ever deleted.
//
//   <save_folder>/<run_name>/packs/a0003/s0000001200/r0002.safetensors   one rank's tensors
//                            receipts/a0003/s0000001200/r0002.json       that rank's vote for its pack
//                            manifests/s0000001200.a0003.json            the commit: names every pack
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "base/contract/messages.h"

namespace ratoon::checkpoint {

struct CheckpointId {
  Attempt attempt{0};
  Step step{0};

  // Newer attempts come later, whatever their step.
  friend auto operator<=>(const CheckpointId&, const CheckpointId&) = default;
};

[[nodiscard]] std::filesystem::path manifests_folder(const std::filesystem::path& run);
[[nodiscard]] std::filesystem::path manifest_path(const std::filesystem::path& run, const CheckpointId& id);
[[nodiscard]] std::filesystem::path packs_folder(const std::filesystem::path& run);
[[nodiscard]] std::filesystem::path packs_folder(const std::filesystem::path& run, const CheckpointId& id);
[[nodiscard]] std::filesystem::path receipts_folder(const std::filesystem::path& run, const CheckpointId& id);
[[nodiscard]] std::string pack_name(Rank rank);
[[nodiscard]] std::string receipt_name(Rank rank);

// "a0003", and nothing else.
[[nodiscard]] std::optional<Attempt> parse_attempt_name(std::string_view name);

// "s0000001200.a0003.json", and nothing else.
[[nodiscard]] std::optional<CheckpointId> parse_manifest_name(std::string_view name);

}  // namespace ratoon::checkpoint
