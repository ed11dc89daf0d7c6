#include "agent/src/objects/cache/object_cache.h"

#include <algorithm>
#include <cerrno>
#include <optional>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/src/objects/cache/cache_usage.h"
#include "agent/src/objects/object_key.h"
#include "base/core/log.h"
#include "base/core/pause.h"
#include "base/core/random_name.h"

namespace ratoon::objects {
namespace {

using std::chrono::milliseconds;
using Found = CacheFolder::Found;

// Polls another process's lock with growing pauses, because no event reports that it was released.
class Waiting {
 public:
  explicit Waiting(Duration patience) : patience_(patience), since_(clock_.now()) {}

  [[nodiscard]] bool is_over() const { return clock_.now() - since_ >= patience_; }
  // Restarts the timeout, because the process that holds the lock makes progress.
  void saw_progress() { since_ = clock_.now(); }
  [[nodiscard]] Result<void> look_again(const std::string& what, const std::stop_token& stop) {
    if (!pause_for(pause_, stop))
      return Error(ErrorKind::kCancelled, "waiting for " + what + " was cancelled");
    pause_ = std::min<Duration>(pause_ * 2, milliseconds(50));
    if (clock_.now() < next_word_) return {};
    next_word_ = clock_.now() + kNextWord;
    Logger(clock_, {.format = LogFormat::kText})
        .warning("waiting for another process", {{"waits_for", what}});
    return {};
  }

 private:
  static constexpr Duration kFirstWord = std::chrono::seconds(10);
  static constexpr Duration kNextWord = std::chrono::minutes(1);

  SystemClock clock_;
  Duration patience_;
  Timestamp since_;
  Timestamp next_word_ = since_ + kFirstWord;
  Duration pause_ = milliseconds(1);
};

std::string bytes(std::uint64_t count) {
  return std::to_string(count) + " bytes";
}

// Mapping: maps a file into memory as long as the object exists.
class Mapping {
 public:
  static Result<Mapping> of(int fd, std::uint64_t size, const std::string& shown) {
    if (size == 0) return Mapping(nullptr, 0);
    void* at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) return system_error(errno, "mapping " + shown);
    return Mapping(static_cast<const std::byte*>(at), size);
  }
  Mapping(Mapping&& other) noexcept : at_(std::exchange(other.at_, nullptr)), size_(other.size_) {}
  ~Mapping() {
    if (at_ != nullptr) ::munmap(const_cast<std::byte*>(at_), size_);
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {at_, size_}; }

 private:
  Mapping(const std::byte* at, std::size_t size) : at_(at), size_(size) {}
  const std::byte* at_;
  std::size_t size_;
};

}  // namespace

CacheRequest request_for(ObjectStore& store, std::string key, std::string version, std::uint64_t size_bytes,
                         std::function<Result<void>(std::span<const std::byte>)> verify) {
  CacheKey cache_key{join_uri(store.uri(), key), std::move(version)};
  auto fill = [&store, key = std::move(key)](FileSink& file, const std::stop_token& stop) -> Result<void> {
    auto got = store.get(key, file, {.stop = stop});
    if (!got) return got.error();
    return {};
  };
  return {std::move(cache_key), size_bytes, std::move(fill), std::move(verify)};
}

Result<CachedFile> open_in_place(const std::filesystem::path& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.is_open()) return system_error(errno, "opening " + path.string());
  struct stat facts{};
  if (::fstat(fd.get(), &facts) != 0) return system_error(errno, "looking at " + path.string());
  if (!S_ISREG(facts.st_mode)) return Error(ErrorKind::kNotFound, path.string() + " is not a file");
  return CachedFile(std::move(fd), static_cast<std::uint64_t>(facts.st_size), path.string());
}

Result<std::unique_ptr<ObjectCache>> ObjectCache::open(CacheOptions options) {
  auto folder = CacheFolder::open(options.folder);
  if (!folder) return folder.error();
  if (auto swept = folder->look(); !swept) return swept.error();
  folder->discard_usage_record();  // files that were removed are still in the record
  return std::unique_ptr<ObjectCache>(new ObjectCache(std::move(options), std::move(*folder)));
}

Result<CachedFile> ObjectCache::get(const CacheRequest& request, const std::stop_token& stop) {
  if (options_.bytes_max != 0 && request.size_bytes > options_.bytes_max) {
    return Error(ErrorKind::kInvalid, request.key.source + " has " + bytes(request.size_bytes) +
                                          ", but the cache " + folder_.path().string() + " may hold " +
                                          bytes(options_.bytes_max) +
                                          ": raise its limit to the size of a few objects");
  }
  const std::string name = object_name(request.key);
  std::string part = part_name(name);
  Waiting waiting(options_.patience);
  std::optional<std::int64_t> written_at;
  UniqueFd fetched;  // its lock protects the fetched file from eviction until it is open
  while (true) {
    auto whole = open_whole(request, name);
    if (!whole) return whole.error();
    if (whole->found == Found::kOpen) {
      if (!fetched.is_open()) ++found_;
      return CachedFile(std::move(whole->fd), whole->size_bytes, folder_.shown(name));
    }
    if (whole->found == Found::kMissing) {
      auto writing = folder_.open_part(part);
      if (!writing) return writing.error();
      if (writing->found == Found::kOpen) {
        const auto is_ours = fetch(request, name, part, writing->fd.get(), stop);
        if (!is_ours) return is_ours.error();
        if (*is_ours) fetched = std::move(writing->fd);
        continue;
      }
    }
    if (const auto now = folder_.last_write(part); now != written_at) {
      written_at = now;
      waiting.saw_progress();
    }
    if (waiting.is_over()) {
      // Do not wait forever: the process that holds the lock may be suspended, or its machine may have
      // failed. In the worst case, two processes download the same object, which is harmless.
      part = part_name(name, draw_name());
      if (whole->found == Found::kBusy) {
        if (auto removed = folder_.remove(name); !removed) return removed.error();
      }
    }
    if (auto waited = waiting.look_again(request.key.source, stop); !waited) return waited.error();
  }
}

Result<CacheFolder::Opened> ObjectCache::open_whole(const CacheRequest& request,
                                                    const std::string& name) const {
  auto opened = folder_.open_object(name);
  if (!opened || opened->found != Found::kOpen || opened->size_bytes == request.size_bytes) return opened;
  // If the file has another size than expected, another program has truncated it, or the object of this URI
  // has changed.
  if (auto removed = folder_.remove(name); !removed) return removed.error();
  folder_.discard_usage_record();
  return CacheFolder::Opened{};
}

// The caller must hold the lock of the part (the unfinished file). When fetch() returns, the unfinished file
// (the part) has been renamed to the object or removed.
Result<bool> ObjectCache::fetch(const CacheRequest& request, const std::string& name, const std::string& part,
                                int fd, const std::stop_token& stop) {
  // Look for the object again: the process that held the lock before may have finished the download.
  const auto whole = open_whole(request, name);
  if (!whole) return whole.error();
  if (whole->found != Found::kMissing) {
    if (auto removed = folder_.remove(part); !removed) return removed.error();
    return false;
  }

  auto done = write_part(request, part, fd, stop);
  if (done) done = folder_.publish(part, name);
  if (!done) {
    static_cast<void>(folder_.remove(part));
    folder_.discard_usage_record();
    return done.error();
  }
  ++fetched_;
  // Replaces the exclusive lock by a shared one, so that other processes can read the file. flock() does not
  // do this atomically: if another process evicts the file in between, the file is downloaded a second time.
  ::flock(fd, LOCK_SH | LOCK_NB);
  return true;
}

Result<void> ObjectCache::write_part(const CacheRequest& request, const std::string& part, int fd,
                                     const std::stop_token& stop) {
  if (::ftruncate(fd, 0) != 0) return system_error(errno, "emptying " + folder_.shown(part));
  if (auto reserved = reserve(request, part, fd, stop); !reserved) return reserved;
  FileSink file(fd, folder_.shown(part), request.size_bytes);
  if (auto filled = request.fill(file, stop); !filled)
    return filled.error().kind() == ErrorKind::kNoSpace ? no_space(request) : filled;
  if (file.written_bytes() != request.size_bytes) {
    return Error(ErrorKind::kCorrupted, request.key.source + " gave " + bytes(file.written_bytes()) +
                                            ", expected " + bytes(request.size_bytes) +
                                            "; check the object, or the index that states its size");
  }
  if (request.verify) {
    const auto mapping = Mapping::of(fd, request.size_bytes, folder_.shown(part));
    if (!mapping) return mapping.error();
    if (auto verified = request.verify(mapping->bytes()); !verified) {
      return verified.error().with_context("checking " + request.key.source);
    }
  }
  // Do not call fsync() again after an error: the kernel marks lost pages as clean, so a second call would
  // report success.
  if (::fsync(fd) != 0) return system_error(errno, "syncing " + folder_.shown(part));
  return {};
}

Result<void> ObjectCache::reserve(const CacheRequest& request, const std::string& part, int fd,
                                  const std::stop_token& stop) {
  Waiting waiting(options_.patience);
  while (true) {
    auto lock = folder_.try_lock();
    if (!lock) return lock.error();
    // If other processes hold the folder's lock for too long, continues without it. Without the lock, two
    // processes may write at the same time, and the cache may exceed its limit.
    if (lock->found == Found::kOpen || waiting.is_over()) {
      const auto excess = make_room(request, part, lock->fd);
      if (!excess) return excess.error();
      if (*excess == 0) return allocate(request, fd);
      if (waiting.is_over()) {
        return Error(ErrorKind::kNoSpace,
                     "the cache " + folder_.path().string() + " is full of files that are open: " +
                         request.key.source + " needs " + bytes(request.size_bytes) + ", which is " +
                         bytes(*excess) + " more than its limit of " + bytes(options_.bytes_max) +
                         " leaves; raise the limit, or open fewer at once");
      }
    }
    lock->fd.reset();
    if (auto waited = waiting.look_again("room for " + request.key.source, stop); !waited) return waited;
  }
}

Result<std::uint64_t> ObjectCache::make_room(const CacheRequest& request, const std::string& part,
                                             const UniqueFd& lock) {
  const bool is_limited = options_.bytes_max != 0;
  const std::uint64_t allowed = is_limited ? options_.bytes_max - request.size_bytes : ~std::uint64_t{0};
  const auto known = lock.is_open() ? read_usage_record(lock.get()) : std::nullopt;
  std::uint64_t held = known.value_or(0);
  if (known && held > allowed) {
    if (const auto evicted = evict_oldest(held, allowed); !evicted) return evicted.error();
  }
  const bool must_look = is_limited && (!known || held > allowed);
  if (must_look) {
    if (const auto evicted = scan_and_evict(part, held, allowed); !evicted) return evicted.error();
  }
  const std::uint64_t excess = is_limited ? excess_bytes(held, request.size_bytes, options_.bytes_max) : 0;
  if (!lock.is_open()) {
    folder_.discard_usage_record();
  } else if (known || must_look) {  // before the file exists, so that the record is never too low
    write_usage_record(lock.get(), excess == 0 ? held + request.size_bytes : held);
  }
  return excess;
}

Result<void> ObjectCache::evict_if_free(const CachedObject& object, std::uint64_t& held) {
  const auto is_gone = folder_.try_evict(object.name);
  if (!is_gone) return is_gone.error();
  if (!*is_gone) return {};
  ++evicted_;
  held -= std::min(held, object.size_bytes);
  return {};
}

// The least recently used objects of the last scan are still the least recently used ones, except those that
// were used since then.
Result<void> ObjectCache::evict_oldest(std::uint64_t& held, std::uint64_t allowed) {
  const auto next_uses = next_uses_by_name();
  const std::lock_guard lock(mutex_);
  while (held > allowed && !oldest_.empty()) {
    const CachedObject object = std::move(oldest_.front());
    oldest_.pop_front();
    if (next_uses.contains(object.name) || folder_.last_use(object.name) != object.last_use_nanoseconds)
      continue;
    if (auto evicted = evict_if_free(object, held); !evicted) return evicted;
  }
  return {};
}

Result<void> ObjectCache::scan_and_evict(const std::string& part, std::uint64_t& held,
                                         std::uint64_t allowed) {
  ++looks_;
  auto contents = folder_.look(part);
  if (!contents) return contents.error();
  held = contents->held_bytes;
  const auto next_uses = next_uses_by_name();
  for (auto& object : contents->objects) {
    if (const auto next = next_uses.find(object.name); next != next_uses.end())
      object.next_use = next->second;
  }
  const std::lock_guard lock(mutex_);
  oldest_.clear();
  for (const std::size_t i : eviction_order(contents->objects)) {
    CachedObject& object = contents->objects[i];
    if (held <= allowed) {
      if (!object.next_use) oldest_.push_back(std::move(object));
      continue;
    }
    if (auto evicted = evict_if_free(object, held); !evicted) return evicted;
  }
  return {};
}

// Reserves disk space before the download, so that a full disk is noticed early and other processes count the
// file.
Result<void> ObjectCache::allocate(const CacheRequest& request, int fd) const {
  if (request.size_bytes == 0) return {};
  // Compare with the free space first, because fallocate() for a file that does not fit would fill the disk
  // for a moment.
  if (request.size_bytes > folder_.free_bytes()) return no_space(request);
  const auto size = static_cast<off_t>(request.size_bytes);
  while (::fallocate(fd, 0, 0, size) != 0) {
    if (errno == EINTR) continue;
    if (errno == ENOSPC || errno == EDQUOT) return no_space(request);
    // The file system does not support fallocate(). The file gets its full size at once, so that other
    // processes count all of its bytes.
    if (::ftruncate(fd, size) != 0) return system_error(errno, "making room for " + request.key.source);
    return {};
  }
  return {};
}

Error ObjectCache::no_space(const CacheRequest& request) const {
  return {ErrorKind::kNoSpace,
          "caching " + request.key.source + " needs " + bytes(request.size_bytes) + " in " +
              folder_.path().string() + ", whose disk has " + bytes(folder_.free_bytes()) +
              " free; free space there, set a lower limit for the cache or use another disk"};
}

void ObjectCache::set_future(Future next) {
  const std::lock_guard lock(mutex_);
  future_ = std::move(next);
}

std::map<std::string, std::uint64_t> ObjectCache::next_uses_by_name() {
  Future future;
  {
    const std::lock_guard lock(mutex_);
    future = future_;
  }
  std::map<std::string, std::uint64_t> uses;
  if (!future) return uses;
  for (const CacheKey& key : future()) uses.emplace(object_name(key), uses.size());
  return uses;
}

Result<void> ObjectCache::forget(const CacheKey& key) {
  auto removed = folder_.remove(object_name(key));
  folder_.discard_usage_record();
  return removed;
}

}  // namespace ratoon::objects
