// DatasetFolders: the opened folders and stores of an MdsDataset, with the merged index of all of them.
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

struct DatasetFolders {
  Index index;
  std::vector<std::unique_ptr<ShardSource>> sources;  // by ShardInfo::source
  OpenShards::Limits limits;
  // A shard is opened ahead of its use only if it fits into this limit together with all shards that will be
  // used before it.
  ShardCost prefetch_limit;
  std::shared_ptr<objects::ObjectCache> cache;  // of all sources; null if nothing is evicted
  std::size_t fetch_threads = 0;
};

[[nodiscard]] Result<DatasetFolders> open_dataset_folders(const std::vector<std::string>& uris,
                                                          const MdsOptions& options);

}  // namespace ratoon::mds
