// ObjectCache: a folder of files that were fetched from a store, shared by the threads and processes of a
// machine. What stands there under its name is whole and verified, also after a process was killed at any
// moment; each object is fetched once, whoever asks for it; files that somebody has open are not evicted.
//
//   auto cache = ObjectCache::open({.folder = "/scratch/shards", .bytes_max = 200'000'000'000});
//   if (!cache) return cache.error();
//   auto shard = (*cache)->get(request_for(*store, "train/shard.00007.mds", digest, size, check_hashes));
//   if (!shard) return shard.error();
//   map(shard->fd(), shard->size_bytes());  // stays in the cache as long as `shard` lives
//
// Thread contract: any thread. Of two that want the same object one fetches it and the other waits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
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
#include "base/core/unique_fd.h"

namespace ratoon::objects {

struct CacheOptions {
  std::filesystem::path folder;
  std::uint64_t bytes_max = 0;  // of all files together; 0: no limit
  // How long others may hold what we need: after that an object is fetched by ourselves although somebody
  // else seems to be at it, and a cache that is full of open files is an error.
  Duration patience{std::chrono::seconds(60)};
};

// A file that is open for reading. While it lives, the cache keeps the file.
class CachedFile {
 public:
  CachedFile(UniqueFd fd, std::uint64_t size_bytes, std::string shown)
      : fd_(std::move(fd)), size_bytes_(size_bytes), shown_(std::move(shown)) {}

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }
  [[nodiscard]] const std::string& shown() const { return shown_; }  // its path, for messages

 private:
  UniqueFd fd_;
  std::uint64_t size_bytes_;
  std::string shown_;
};

struct CacheRequest {
  CacheKey key;
  std::uint64_t size_bytes = 0;  // of the file, known beforehand
  // Writes all of the file's bytes: a download, or one that is unpacked on the way.
  std::function<Result<void>(FileSink& file, const std::stop_token& stop)> fill{};
  // Looks at the bytes before anybody else sees them; empty: their number is enough.
  std::function<Result<void>(std::span<const std::byte> bytes)> verify{};
};

// The request for an object as it is in the store; the store outlives it.
[[nodiscard]] CacheRequest request_for(ObjectStore& store, std::string key, std::string version,
                                       std::uint64_t size_bytes,
                                       std::function<Result<void>(std::span<const std::byte>)> verify = {});

// A file that is no cache's, such as an object of a FileStore, opened where it is.
[[nodiscard]] Result<CachedFile> open_in_place(const std::filesystem::path& path);

class ObjectCache {
 public:
  // Creates the folder where it is missing, and removes what dead writers left there.
  [[nodiscard]] static Result<std::unique_ptr<ObjectCache>> open(CacheOptions options);

  // From the folder, or fetched into it.
  [[nodiscard]] Result<CachedFile> get(const CacheRequest& request, const std::stop_token& stop = {});

  // Asked when files must go: what this process will open next, the nearest first. It is evicted last, the
  // farthest first. Other processes know nothing of it.
  using Future = std::function<std::vector<CacheKey>()>;
  void set_future(Future next);

  // Takes a file that turned out bad out of the cache; whoever has it open keeps it.
  [[nodiscard]] Result<void> forget(const CacheKey& key);

  struct Counts {
    std::uint64_t found = 0;
    std::uint64_t fetched = 0;
    std::uint64_t evicted = 0;
    std::uint64_t looks = 0;  // at the whole folder
  };
  [[nodiscard]] Counts counts() const {
    return {found_.load(), fetched_.load(), evicted_.load(), looks_.load()};
  }
  [[nodiscard]] const CacheOptions& options() const { return options_; }

 private:
  ObjectCache(CacheOptions options, CacheFolder folder)
      : options_(std::move(options)), folder_(std::move(folder)) {}

  [[nodiscard]] Result<CacheFolder::Opened> open_whole(const CacheRequest& request,
                                                       const std::string& name) const;
  // Whether it was fetched: somebody else may have done so a moment ago.
  [[nodiscard]] Result<bool> fetch(const CacheRequest& request, const std::string& name,
                                   const std::string& part, int fd, const std::stop_token& stop);
  [[nodiscard]] Result<void> write_part(const CacheRequest& request, const std::string& part, int fd,
                                        const std::stop_token& stop);
  [[nodiscard]] Result<void> reserve(const CacheRequest& request, const std::string& part, int fd,
                                     const std::stop_token& stop);
  // How many bytes are still too much once all that can go is gone. With the folder's lock, or none where
  // nobody gives it up; it goes by the account, and looks at the folder when that says that it is full.
  [[nodiscard]] Result<std::uint64_t> make_room(const CacheRequest& request, const std::string& part,
                                                const UniqueFd& lock);
  // Both take what goes off `held`.
  // One that somebody reads stays.
  [[nodiscard]] Result<void> evict_if_free(const CachedObject& object, std::uint64_t& held);
  [[nodiscard]] Result<void> evict_oldest(std::uint64_t& held, std::uint64_t allowed);
  [[nodiscard]] Result<void> look_and_evict(const std::string& part, std::uint64_t& held,
                                            std::uint64_t allowed);
  [[nodiscard]] std::map<std::string, std::uint64_t> next_uses_by_name();
  [[nodiscard]] Result<void> allocate(const CacheRequest& request, int fd) const;
  [[nodiscard]] Error no_space(const CacheRequest& request) const;

  const CacheOptions options_;
  const CacheFolder folder_;
  std::mutex mutex_;
  Future future_;                    // guarded by mutex_
  std::deque<CachedObject> oldest_;  // of the last look, what goes first is in front; guarded by mutex_
  std::atomic<std::uint64_t> found_{0};
  std::atomic<std::uint64_t> fetched_{0};
  std::atomic<std::uint64_t> evicted_{0};
  std::atomic<std::uint64_t> looks_{0};
};

}  // namespace ratoon::objects
