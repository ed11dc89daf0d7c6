// load_path: the checkpoint from which a run without a checkpoint of its own begins. This initial checkpoint
// belongs to another run, in a folder, in a store or on a web server, and is only read.
//
//   "/data/runs/pretrained", "s3://bucket/runs/pretrained"                   that run's newest checkpoint
//   "https://host/runs/pretrained/manifests/s0000001200.a0003.json"          that checkpoint
//
// A path of a folder or a store may also name a manifest.
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

// The place that a path names, and the checkpoint in it. Without `id`, the newest checkpoint is meant.
struct LoadLocation {
  std::string uri;
  std::optional<CheckpointId> id{};
};
[[nodiscard]] LoadLocation parse_load_path(std::string_view path);

// Returns kNotFound if there is no checkpoint, and kCorrupted if the named one or all are damaged: a run that
// is started with weights must not begin without them.
[[nodiscard]] Result<LoadSource> open_load_path(std::string_view path, const StoreOptions& options,
                                                const FolderWrapper& folders = {});

// Returns the tensors of one rank of the other run, namely of `rank` modulo the size of that run's world.
[[nodiscard]] Result<LoadedTensors> load_rank(const LoadSource& source, Rank rank);

}  // namespace ratoon::checkpoint
