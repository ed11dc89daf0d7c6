// ObjectCache: a folder of files that were fetched from a store, shared by the threads and processes of a
// machine. An object's file is always whole and verified, even after a process was killed. Each object is
// fetched once, even if several threads and processes request it. Files that are open are not evicted.
//
//   auto cache = ObjectCache::open({.folder = "/scratch/shards", .bytes_max = 200'000'000'000});
//   if (!cache) return cache.error();
//   auto shard = (*cache)->get(unmodified_object_request(*store, "a/7.mds", digest, size, check_hashes));
//   if (!shard) return shard.error();
//   map(shard->fd(), shard->size_bytes());  // stays in the cache as long as `shard` lives
//
// Thread contract: any thread may call any function. If two threads or processes request the same object, one
// of them fetches the object and the other waits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/objects/cache/cache_folder.h"
#include "agent/src/objects/cache/cache_name.h"
#include "agent/src/objects/object_store.h"
#include "agent/src/objects/sinks.h"
#include "base/core/clock.h"
#include "base/core/threads/mutex.h"
#include "base/core/unique_fd.h"

namespace ratoon::objects {

struct CacheOptions {
  std::filesystem::path folder;
  std::uint64_t bytes_max = 0;  // of all files together; 0: no limit
  // lock_wait_max is the time for which get() waits for other processes. If another process still holds the
  // lock of the object after this time, get() fetches the object itself. If the cache is full of open files
  // for longer than lock_wait_max, get() returns an error.
  Duration lock_wait_max{std::chrono::seconds(60)};
};

// CachedFile: a file that is open for reading. The cache keeps the file until the CachedFile is destroyed.
class CachedFile {
 public:
  CachedFile(UniqueFd fd, std::uint64_t size_bytes, std::string shown)
      : fd_(std::move(fd)), size_bytes_(size_bytes), display_name_(std::move(shown)) {}

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }
  [[nodiscard]] const std::string& display_name() const { return display_name_; }  // its path, for messages

 private:
  UniqueFd fd_;
  std::uint64_t size_bytes_;
  std::string display_name_;
};

struct CacheRequest {
  CacheKey key;
  std::uint64_t size_bytes = 0;  // of the file, known in advance
  // Writes all bytes of the file, for example by downloading and decompressing an object.
  std::function<Result<void>(FileSink& file, const std::stop_token& stop)> fill{};
  // Checks the bytes of the file before other processes can see it. If `verify` is null, only the size is
  // checked.
  std::function<Result<void>(std::span<const std::byte> bytes)> verify{};
};

// Makes a request that stores an object in the cache as it is, without decompressing it. The store must
// outlive the CacheRequest.
[[nodiscard]] CacheRequest unmodified_object_request(
    ObjectStore& store, std::string key, std::string version, std::uint64_t size_bytes,
    std::function<Result<void>(std::span<const std::byte>)> verify = {});

// Opens a file that is not in a cache, such as an object of a FileStore.
[[nodiscard]] Result<CachedFile> open_uncached_file(const std::filesystem::path& path);

class ObjectCache {
 public:
  // Creates the folder if it does not exist, and removes unfinished files of processes that died.
  [[nodiscard]] static Result<std::unique_ptr<ObjectCache>> open(CacheOptions options);

  // Opens the file of an object in the cache. If the object is not in the cache, fetches it first.
  [[nodiscard]] Result<CachedFile> get(const CacheRequest& request, const std::stop_token& stop = {});

  // The cache calls `next` when files must be evicted. `next` returns the objects that this process will open
  // next, in order. The cache evicts these objects after all others, beginning with the one that is needed
  // last. Other processes do not know `next`, so they may evict these objects earlier.
  using NextUsesFunction = std::function<std::vector<CacheKey>()>;
  void set_next_uses(NextUsesFunction next);

  // Removes a damaged file from the cache. Processes that have opened it before can still read it.
  [[nodiscard]] Result<void> discard(const CacheKey& key);

  struct Counts {
    std::uint64_t found = 0;
    std::uint64_t fetched = 0;
    std::uint64_t evicted = 0;
    std::uint64_t folder_scans = 0;  // scans of the whole folder
  };
  [[nodiscard]] Counts counts() const {
    return {hits_.load(), fetched_.load(), evicted_.load(), folder_scans_.load()};
  }
  [[nodiscard]] const CacheOptions& options() const { return options_; }

 private:
  ObjectCache(CacheOptions options, CacheFolder folder)
      : options_(std::move(options)), folder_(std::move(folder)) {}

  [[nodiscard]] Result<CacheFolder::OpenResult> open_cached(const CacheRequest& request,
                                                            const std::string& name) const;
  // Returns true if this call fetched the object, and false if another process has just fetched it.
  [[nodiscard]] Result<bool> fetch(const CacheRequest& request, const std::string& name,
                                   const std::string& part, int fd, const std::stop_token& stop);
  [[nodiscard]] Result<void> write_part_file(const CacheRequest& request, const std::string& part, int fd,
                                             const std::stop_token& stop);
  [[nodiscard]] Result<void> reserve(const CacheRequest& request, const std::string& part, int fd,
                                     const std::stop_token& stop);
  // Evicts files, and returns by how many bytes the cache is still too large. `lock` is the folder's lock. If
  // other processes have held the folder's lock for too long, `lock` is not open. The size of the cache is
  // read from the usage record. The folder is scanned only if there is no record or the record says that the
  // cache is full.
  [[nodiscard]] Result<std::uint64_t> make_room(const CacheRequest& request, const std::string& part,
                                                const UniqueFd& lock);
  // Each of the following functions evicts files and subtracts their bytes from `held`, the size of the
  // cache. An object that is being read is never evicted.
  [[nodiscard]] Result<void> evict_if_unused(const CachedObject& object, std::uint64_t& held);
  [[nodiscard]] Result<void> evict_oldest(std::uint64_t& held, std::uint64_t allowed);
  [[nodiscard]] Result<void> scan_and_evict(const std::string& part, std::uint64_t& held,
                                            std::uint64_t allowed);
  [[nodiscard]] std::map<std::string, std::uint64_t> next_uses_by_name();
  [[nodiscard]] Result<void> allocate(const CacheRequest& request, int fd) const;
  [[nodiscard]] Error no_space_error(const CacheRequest& request) const;

  const CacheOptions options_;
  const CacheFolder folder_;
  Mutex mutex_;
  NextUsesFunction next_uses_ RATOON_GUARDED_BY(mutex_);
  // The result of the last scan: the object to evict next is in front.
  std::deque<CachedObject> eviction_queue_ RATOON_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> hits_{0};
  std::atomic<std::uint64_t> fetched_{0};
  std::atomic<std::uint64_t> evicted_{0};
  std::atomic<std::uint64_t> folder_scans_{0};
};

}  // namespace ratoon::objects
