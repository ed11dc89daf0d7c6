#include "agent/src/mds/folders.h"

#include <algorithm>
#include <filesystem>
#include <limits>

#include <sys/resource.h>

#include "agent/src/mds/shards/local_source.h"
#include "agent/src/mds/shards/remote_source.h"

namespace ratoon::mds {
namespace {

namespace fs = std::filesystem;

// Opens the folders and stores from which shards are read. The cache is created when the first folder or
// store that needs it is opened.
class SourceOpener {
 public:
  explicit SourceOpener(const MdsOptions& options)
      : options_(options),
        load_{.maps_files = options.maps_files, .verifies_local_files = options.verifies_local_files} {}

  Result<std::unique_ptr<ShardSource>> open(const std::string& uri) {
    auto store = objects::open_store(uri, options_.store);
    if (!store) return store.error();
    const std::string prefix = options_.split.empty() ? "" : options_.split + "/";
    const auto local = (*store)->local_path(prefix + "index.json");
    if (local && options_.cache_folder.empty())
      return std::unique_ptr<ShardSource>(std::make_unique<LocalSource>(local->parent_path(), load_));
    if (options_.cache_folder.empty()) {
      return Error(ErrorKind::kInvalid, (*store)->uri() +
                                            " is not a folder of this machine: MdsOptions::cache_folder must "
                                            "name a local folder in which the store's shards are cached");
    }
    if (cache_ == nullptr) {
      auto cache = objects::ObjectCache::open(
          {.folder = options_.cache_folder, .bytes_max = options_.cache_bytes_max});
      if (!cache) return cache.error();
      cache_ = std::move(*cache);
    }
    auto source = std::make_unique<RemoteSource>(std::move(*store), prefix, cache_, load_);
    remote_.push_back(source.get());
    return std::unique_ptr<ShardSource>(std::move(source));
  }

  // Sets limits for open shards and prefetched shards if the cache may have to evict shards. Call
  // set_cache_limits() after the indexes of all folders were read.
  Result<void> set_cache_limits(DatasetFolders& folders) {
    const std::uint64_t bytes_max = options_.cache_bytes_max;
    if (cache_ == nullptr || bytes_max == 0) return {};
    std::uint64_t all = 0;
    std::uint64_t largest = 0;
    for (const ShardInfo& shard : folders.index.shards) {
      all += shard.raw.size_bytes;
      largest = std::max(largest, shard.raw.size_bytes);
    }
    if (largest > bytes_max / 2) return too_small(folders, largest);
    if (all <= bytes_max / 2) return {};
    // The cache cannot evict a file that a process has open. Several processes share the cache, so each
    // process must keep only a small part of it open.
    for (RemoteSource* source : remote_) source->pin_files();
    folders.limits.pinned_bytes_max = bytes_max / 16;
    folders.prefetch_limit.cache_bytes = bytes_max / 4;
    folders.cache = cache_;
    // Shards that are fetched ahead must leave enough space in the cache for the shards that are being read.
    folders.fetch_threads = std::min<std::uint64_t>(folders.fetch_threads, bytes_max / 4 / largest);
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0)
      folders.limits.count_max = std::min<std::size_t>(folders.limits.count_max, files.rlim_cur / 4 + 1);
    return {};
  }

 private:
  [[nodiscard]] Error too_small(const DatasetFolders& folders, std::uint64_t largest) const {
    const auto& shard = *std::find_if(folders.index.shards.begin(), folders.index.shards.end(),
                                      [&](const ShardInfo& one) { return one.raw.size_bytes == largest; });
    return {ErrorKind::kInvalid,
            "the cache " + options_.cache_folder.string() + " may hold " +
                std::to_string(options_.cache_bytes_max) + " bytes, but the largest shard, " +
                folders.sources[shard.source]->display_name(shard) + ", has " + std::to_string(largest) +
                " bytes: set cache_bytes_max to at least twice the size of this shard"};
  }

  const MdsOptions& options_;
  const LoadOptions load_;
  std::shared_ptr<objects::ObjectCache> cache_;
  std::vector<RemoteSource*> remote_;
};

}  // namespace

Result<DatasetFolders> open_dataset_folders(const std::vector<std::string>& uris, const MdsOptions& options) {
  DatasetFolders folders{.index = {},
                         .sources = {},
                         .limits = {.memory_bytes_max = options.memory_bytes_max},
                         .prefetch_limit = {.memory_bytes = options.memory_bytes_max,
                                            .cache_bytes = std::numeric_limits<std::uint64_t>::max()},
                         .cache = nullptr,
                         .fetch_threads = options.fetch_threads};
  SourceOpener sources(options);
  for (const std::string& uri : uris) {
    auto source = sources.open(uri);
    if (!source) return source.error();
    auto index = (*source)->read_index();
    if (!index) return index.error();
    const auto number = static_cast<std::uint32_t>(folders.sources.size());
    if (const auto added = append_shards(folders.index, std::move(*index), number); !added)
      return added.error().with_context(uri);
    folders.sources.push_back(std::move(*source));
  }
  if (const auto fits = sources.set_cache_limits(folders); !fits) return fits.error();
  return folders;
}

}  // namespace ratoon::mds
