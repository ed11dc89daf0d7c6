// The load path names a checkpoint of another run. A run that has no checkpoint of its own begins from that
// checkpoint. The checkpoint is in a folder, in a store or on a web server. Ratoon never changes it.
//
//   "/data/runs/pretrained", "s3://bucket/runs/pretrained"                   that run's newest checkpoint
//   "https://host/runs/pretrained/manifests/s0000001200.a0003.json"          that checkpoint
//
// The load path may be a folder, a store, or one manifest in a folder or store.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <ratoon/result.h>
#include <ratoon/store_options.h>

#include "agent/src/checkpoint/load/pack_reader.h"
#include "agent/src/checkpoint/tiers/stores/object_store_disk.h"

namespace ratoon::checkpoint {

struct LoadSource {
  std::shared_ptr<const Disk> disk;
  CheckpointId id;
  Manifest manifest;
};

// The folder or store that a load path names, and the checkpoint in it. If the path names a folder or store
// and no manifest, `id` is empty, and the newest checkpoint is loaded.
struct LoadLocation {
  std::string uri;
  std::optional<CheckpointId> id{};
};
[[nodiscard]] LoadLocation parse_load_path(std::string_view path);

// Returns kNotFound if the load path has no checkpoint. Returns kCorrupted if the checkpoint that the path
// names is damaged, or if the path names no checkpoint and every checkpoint there is damaged. A run with a
// load path must not begin without its weights.
[[nodiscard]] Result<LoadSource> open_load_path(std::string_view path, const StoreOptions& options,
                                                const FolderWrapper& folders = {});

// Returns the tensors that one rank of the run at the load path saved: rank number `rank` modulo the number
// of ranks of that run.
[[nodiscard]] Result<LoadedTensors> load_tensors_of_rank(const LoadSource& source, Rank rank);

}  // namespace ratoon::checkpoint
