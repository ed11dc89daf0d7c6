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
#include "base/core/random_name.h"
#include "base/core/threads/pause.h"

namespace ratoon::objects {
namespace {

using std::chrono::milliseconds;
using OpenOutcome = CacheFolder::OpenOutcome;

// Polls a lock that another process holds, with growing pauses, because no event reports its release.
class LockWait {
 public:
  explicit LockWait(Duration lock_wait_max) : lock_wait_max_(lock_wait_max), since_(clock_.now()) {}

  [[nodiscard]] bool is_over() const { return clock_.now() - since_ >= lock_wait_max_; }
  // Restarts the timeout, because the process that holds the lock makes progress.
  void saw_progress() { since_ = clock_.now(); }
  [[nodiscard]] Result<void> pause_before_retry(const std::string& what, const std::stop_token& stop) {
    if (!pause_for(pause_, stop))
      return Error(ErrorKind::kCancelled, "waiting for " + what + " was cancelled");
    pause_ = std::min<Duration>(pause_ * 2, milliseconds(50));
    if (clock_.now() < next_warning_) return {};
    next_warning_ = clock_.now() + kWarningInterval;
    Logger(clock_, {.format = LogFormat::kText})
        .warning("waiting for another process", {{"waits_for", what}});
    return {};
  }

 private:
  static constexpr Duration kFirstWarningAfter = std::chrono::seconds(10);
  static constexpr Duration kWarningInterval = std::chrono::minutes(1);

  SystemClock clock_;
  Duration lock_wait_max_;
  Timestamp since_;
  Timestamp next_warning_ = since_ + kFirstWarningAfter;
  Duration pause_ = milliseconds(1);
};

std::string bytes_text(std::uint64_t count) {
  return std::to_string(count) + " bytes";
}

// MappedFile: maps a file into memory as long as the MappedFile exists.
class MappedFile {
 public:
  static Result<MappedFile> of(int fd, std::uint64_t size, const std::string& shown) {
    if (size == 0) return MappedFile(nullptr, 0);
    void* at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) return system_error(errno, "mapping " + shown);
    return MappedFile(static_cast<const std::byte*>(at), size);
  }
  MappedFile(MappedFile&& other) noexcept : at_(std::exchange(other.at_, nullptr)), size_(other.size_) {}
  ~MappedFile() {
    if (at_ != nullptr) ::munmap(const_cast<std::byte*>(at_), size_);
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {at_, size_}; }

 private:
  MappedFile(const std::byte* at, std::size_t size) : at_(at), size_(size) {}
  const std::byte* at_;
  std::size_t size_;
};

}  // namespace

CacheRequest unmodified_object_request(ObjectStore& store, std::string key, std::string version,
                                       std::uint64_t size_bytes,
                                       std::function<Result<void>(std::span<const std::byte>)> verify) {
  CacheKey cache_key{join_uri(store.uri(), key), std::move(version)};
  auto fill = [&store, key = std::move(key)](FileSink& file, const std::stop_token& stop) -> Result<void> {
    auto got = store.get(key, file, {.stop = stop});
    if (!got) return got.error();
    return {};
  };
  return {std::move(cache_key), size_bytes, std::move(fill), std::move(verify)};
}

Result<CachedFile> open_uncached_file(const std::filesystem::path& path) {
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
  if (auto swept = folder->scan(); !swept) return swept.error();
  folder->discard_usage_record();  // files that were removed are still in the record
  return std::unique_ptr<ObjectCache>(new ObjectCache(std::move(options), std::move(*folder)));
}

Result<CachedFile> ObjectCache::get(const CacheRequest& request, const std::stop_token& stop) {
  if (options_.bytes_max != 0 && request.size_bytes > options_.bytes_max) {
    return Error(ErrorKind::kInvalid, request.key.source + " has " + bytes_text(request.size_bytes) +
                                          ", but the cache " + folder_.path().string() + " may hold " +
                                          bytes_text(options_.bytes_max) +
                                          ": raise its limit to the size of a few objects");
  }
  const std::string name = object_name(request.key);
  std::string part = part_name(name);
  LockWait waiting(options_.lock_wait_max);
  std::optional<std::int64_t> written_at;
  UniqueFd fetched;  // its lock protects the fetched file from eviction until it is open
  while (true) {
    auto whole = open_cached(request, name);
    if (!whole) return whole.error();
    if (whole->outcome == OpenOutcome::kOpen) {
      if (!fetched.is_open()) ++hits_;
      return CachedFile(std::move(whole->fd), whole->size_bytes, folder_.shown(name));
    }
    if (whole->outcome == OpenOutcome::kMissing) {
      auto writing = folder_.open_part(part);
      if (!writing && writing.error().kind() == ErrorKind::kPermissionDenied) {  // the part of another user
        part = part_name(name, random_hex_name());
        writing = folder_.open_part(part);
      }
      if (!writing) return writing.error();
      if (writing->outcome == OpenOutcome::kOpen) {
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
      // failed. If that process still works, both processes download the object, which is harmless.
      part = part_name(name, random_hex_name());
      if (whole->outcome == OpenOutcome::kBusy) {
        if (auto removed = folder_.remove(name); !removed) return removed.error();
      }
    }
    if (auto waited = waiting.pause_before_retry(request.key.source, stop); !waited) return waited.error();
  }
}

Result<CacheFolder::OpenResult> ObjectCache::open_cached(const CacheRequest& request,
                                                         const std::string& name) const {
  auto opened = folder_.open_object(name);
  if (!opened || opened->outcome != OpenOutcome::kOpen || opened->size_bytes == request.size_bytes)
    return opened;
  // A file of an unexpected size is useless: another program has truncated the file, or the object of this
  // URI has changed.
  if (auto removed = folder_.remove(name); !removed) return removed.error();
  folder_.discard_usage_record();
  return CacheFolder::OpenResult{};
}

// The caller must hold the lock of the unfinished file ("part"). fetch() ends with the unfinished file
// renamed to the object's name, or removed.
Result<bool> ObjectCache::fetch(const CacheRequest& request, const std::string& name, const std::string& part,
                                int fd, const std::stop_token& stop) {
  // Look for the object again: the process that held the lock before may have finished the download.
  const auto whole = open_cached(request, name);
  if (!whole) return whole.error();
  if (whole->outcome != OpenOutcome::kMissing) {
    if (auto removed = folder_.remove(part); !removed) return removed.error();
    return false;
  }

  auto done = write_part_file(request, part, fd, stop);
  if (done) done = folder_.publish(part, name);
  if (!done) {
    static_cast<void>(folder_.remove(part));
    folder_.discard_usage_record();
    return done.error();
  }
  ++fetched_;
  // Replaces the exclusive lock by a shared one, so that other processes can read the file. flock() does not
  // do this atomically: another process may evict the file in between, and the file is then downloaded again.
  ::flock(fd, LOCK_SH | LOCK_NB);
  return true;
}

Result<void> ObjectCache::write_part_file(const CacheRequest& request, const std::string& part, int fd,
                                          const std::stop_token& stop) {
  if (::ftruncate(fd, 0) != 0) return system_error(errno, "emptying " + folder_.shown(part));
  if (auto reserved = reserve(request, part, fd, stop); !reserved) return reserved;
  FileSink file(fd, folder_.shown(part), request.size_bytes);
  if (auto filled = request.fill(file, stop); !filled)
    return filled.error().kind() == ErrorKind::kNoSpace ? no_space_error(request) : filled;
  if (file.written_bytes() != request.size_bytes) {
    return Error(ErrorKind::kCorrupted, request.key.source + " gave " + bytes_text(file.written_bytes()) +
                                            ", expected " + bytes_text(request.size_bytes) +
                                            "; check the object, or the index that states its size");
  }
  if (request.verify) {
    const auto mapping = MappedFile::of(fd, request.size_bytes, folder_.shown(part));
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
  LockWait waiting(options_.lock_wait_max);
  while (true) {
    auto lock = folder_.try_lock();
    if (!lock) return lock.error();
    // If other processes hold the folder's lock for too long, continue without it. Without the folder's lock,
    // two processes may write at the same time, and the cache may exceed its limit.
    if (lock->outcome == OpenOutcome::kOpen || waiting.is_over()) {
      const auto excess = make_room(request, part, lock->fd);
      if (!excess) return excess.error();
      if (*excess == 0) return allocate(request, fd);
      if (waiting.is_over()) {
        return Error(ErrorKind::kNoSpace,
                     "the cache " + folder_.path().string() + " is full of files that are open: " +
                         request.key.source + " needs " + bytes_text(request.size_bytes) + ", which is " +
                         bytes_text(*excess) + " more than is left of the limit of " +
                         bytes_text(options_.bytes_max) + "; raise the limit, or open fewer files");
      }
    }
    lock->fd.reset();
    if (auto waited = waiting.pause_before_retry("room for " + request.key.source, stop); !waited)
      return waited;
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

Result<void> ObjectCache::evict_if_unused(const CachedObject& object, std::uint64_t& held) {
  const auto is_gone = folder_.try_evict(object.name);
  if (!is_gone) return is_gone.error();
  if (!*is_gone) return {};
  ++evicted_;
  held -= std::min(held, object.size_bytes);
  return {};
}

// Evicts in the order of the last scan, without a new scan. An object that was not used since the last scan
// is still among the least recently used ones. Skips objects that were used since the last scan, and objects
// that this process will open next.
Result<void> ObjectCache::evict_oldest(std::uint64_t& held, std::uint64_t allowed) {
  const auto next_uses = next_uses_by_name();
  const MutexLock lock(mutex_);
  while (held > allowed && !eviction_queue_.empty()) {
    const CachedObject object = std::move(eviction_queue_.front());
    eviction_queue_.pop_front();
    if (next_uses.contains(object.name) || folder_.last_use(object.name) != object.last_use_nanoseconds)
      continue;
    if (auto evicted = evict_if_unused(object, held); !evicted) return evicted;
  }
  return {};
}

Result<void> ObjectCache::scan_and_evict(const std::string& part, std::uint64_t& held,
                                         std::uint64_t allowed) {
  ++folder_scans_;
  auto contents = folder_.scan(part);
  if (!contents) return contents.error();
  held = contents->used_bytes;
  const auto next_uses = next_uses_by_name();
  for (auto& object : contents->objects) {
    if (const auto next = next_uses.find(object.name); next != next_uses.end())
      object.next_use = next->second;
  }
  const MutexLock lock(mutex_);
  eviction_queue_.clear();
  for (const std::size_t i : eviction_order(contents->objects)) {
    CachedObject& object = contents->objects[i];
    if (held <= allowed) {
      if (!object.next_use) eviction_queue_.push_back(std::move(object));
      continue;
    }
    if (auto evicted = evict_if_unused(object, held); !evicted) return evicted;
  }
  return {};
}

// Reserves disk space before the download, so that a full disk is noticed early and other processes count the
// bytes of the file.
Result<void> ObjectCache::allocate(const CacheRequest& request, int fd) const {
  if (request.size_bytes == 0) return {};
  // First compare the size of the object with the free space, because fallocate() for a file that does not
  // fit would fill the disk for a moment.
  if (request.size_bytes > folder_.free_bytes()) return no_space_error(request);
  const auto size = static_cast<off_t>(request.size_bytes);
  while (::fallocate(fd, 0, 0, size) != 0) {
    if (errno == EINTR) continue;
    if (errno == ENOSPC || errno == EDQUOT) return no_space_error(request);
    // The file system does not support fallocate(). The file gets its full size at once, so that other
    // processes count all of its bytes.
    if (::ftruncate(fd, size) != 0) return system_error(errno, "making room for " + request.key.source);
    return {};
  }
  return {};
}

Error ObjectCache::no_space_error(const CacheRequest& request) const {
  return {ErrorKind::kNoSpace,
          "caching " + request.key.source + " needs " + bytes_text(request.size_bytes) + " in " +
              folder_.path().string() + ", whose disk has " + bytes_text(folder_.free_bytes()) +
              " free; free space there, set a lower limit for the cache or use another disk"};
}

void ObjectCache::set_next_uses(NextUsesFunction next) {
  const MutexLock lock(mutex_);
  next_uses_ = std::move(next);
}

std::map<std::string, std::uint64_t> ObjectCache::next_uses_by_name() {
  NextUsesFunction future;
  {
    const MutexLock lock(mutex_);
    future = next_uses_;
  }
  std::map<std::string, std::uint64_t> uses;
  if (!future) return uses;
  for (const CacheKey& key : future()) uses.emplace(object_name(key), uses.size());
  return uses;
}

Result<void> ObjectCache::discard(const CacheKey& key) {
  auto removed = folder_.remove(object_name(key));
  folder_.discard_usage_record();
  return removed;
}

}  // namespace ratoon::objects
