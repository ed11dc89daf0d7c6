// What MdsDataset::open() is given, opened: the index of all folders together, and where their shards come
// from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ratoon/mds_dataset.h>
#include <ratoon/result.h>

#include "agent/src/mds/open_shards.h"
#include "agent/src/mds/shard_source.h"
#include "agent/src/objects/cache/object_cache.h"

namespace ratoon::mds {

struct Folders {
  Index index;
  std::vector<std::unique_ptr<ShardSource>> sources;  // by ShardInfo::source
  OpenShards::Limits limits;
  // Of the nearest shards that are opened before anybody asks: what there is room for without giving up
  // others that are needed before them.
  ShardCost ahead_max;
  std::shared_ptr<objects::ObjectCache> cache;  // of all sources; none where nothing is evicted
  std::size_t fetch_threads = 0;
};

[[nodiscard]] Result<Folders> open_folders(const std::vector<std::string>& uris, const MdsOptions& options);

}  // namespace ratoon::mds
