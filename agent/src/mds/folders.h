// Folders is the result of opening the arguments of MdsDataset::open(): the merged index of all folders, and
// the sources of their shards.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ratoon/mds_dataset.h>
#include <ratoon/result.h>

#include "agent/src/mds/shards/open_shards.h"
#include "agent/src/mds/shards/shard_source.h"
#include "agent/src/objects/cache/object_cache.h"

namespace ratoon::mds {

struct Folders {
  Index index;
  std::vector<std::unique_ptr<ShardSource>> sources;  // by ShardInfo::source
  OpenShards::Limits limits;
  // Limits the shards that are opened ahead of need: they must fit beside all shards that are needed
  // earlier.
  ShardCost ahead_max;
  std::shared_ptr<objects::ObjectCache> cache;  // of all sources; null if nothing is evicted
  std::size_t fetch_threads = 0;
};

[[nodiscard]] Result<Folders> open_folders(const std::vector<std::string>& uris, const MdsOptions& options);

}  // namespace ratoon::mds
