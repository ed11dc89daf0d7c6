// load_path: what a run begins with that has no checkpoint of its own yet: another run's, in a folder, in a
// store or on a web server. It is only ever read.
//
//   "/data/runs/pretrained", "s3://bucket/runs/pretrained"                   that run's newest checkpoint
//   "https://host/runs/pretrained/manifests/s0000001200.a0003.json"          that one; so on the others, too
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <ratoon/result.h>
#include <ratoon/store_options.h>

#include "agent/src/checkpoint/pack_reader.h"
#include "agent/src/checkpoint/tiers/store_disk.h"

namespace ratoon::checkpoint {

struct LoadSource {
  std::shared_ptr<const Disk> disk;
  CheckpointId id;
  Manifest manifest;
};

// The place that a path names, and the checkpoint in it: nothing for its newest one.
struct LoadPlace {
  std::string uri;
  std::optional<CheckpointId> id{};
};
[[nodiscard]] LoadPlace parse_load_path(std::string_view path);

// kNotFound: there is no checkpoint; kCorrupted: there are some, and the named (or none) is good. Nothing is
// begun from nothing where weights were asked for.
[[nodiscard]] Result<LoadSource> open_load_path(std::string_view path, const StoreOptions& options,
                                                const SeeFolders& folders = {});

// What the rank of that number modulo that run's world saved.
[[nodiscard]] Result<LoadedTensors> load_rank(const LoadSource& source, Rank rank);

}  // namespace ratoon::checkpoint
