// CacheFolder: the files of a cache, opened beneath the folder's descriptor and never through a link, and
// their locks. A lock belongs to an open file (flock), so it ends with its holder, however that ends.
//
//   a part, locked        somebody writes it: the lock is the right to do so
//   a part, not locked    its writer is dead: anybody may take it over or remove it
//   an object             whole, verified and synced, from its first moment under that name
//   an object, shared     somebody reads it: it is not evicted
//
// Thread contract: any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/objects/cache/eviction.h"
#include "base/core/unique_fd.h"

namespace ratoon::objects {

class CacheFolder {
 public:
  // Creates it where it is missing.
  [[nodiscard]] static Result<CacheFolder> open(std::filesystem::path folder);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string shown(const std::string& name) const { return (path_ / name).string(); }

  // What became of trying to open and lock a file without waiting.
  enum class Found { kOpen, kMissing, kBusy };
  struct Opened {
    Found found = Found::kMissing;
    UniqueFd fd{};
    std::uint64_t size_bytes = 0;
  };
  // For reading, with a shared lock. Makes the file the most recently used one.
  [[nodiscard]] Result<Opened> open_object(const std::string& name) const;
  // For writing, made where it is missing, with an exclusive lock.
  [[nodiscard]] Result<Opened> open_part(const std::string& name) const;
  // The lock under which room is made; one for the folder.
  [[nodiscard]] Result<Opened> try_lock() const;

  struct Contents {
    std::vector<CachedObject> objects;
    std::uint64_t held_bytes = 0;  // of objects, and of parts that somebody writes
  };
  // Removes parts without a writer on the way, but for the one that is called `own_part`.
  [[nodiscard]] Result<Contents> look(const std::string& own_part = {}) const;

  // Whether this removed it: an object that somebody reads stays.
  [[nodiscard]] Result<bool> try_evict(const std::string& name) const;
  // When it was last used, in nanoseconds since 1970; nothing where it is not there.
  [[nodiscard]] std::optional<std::int64_t> last_use(const std::string& name) const;
  [[nodiscard]] Result<void> remove(const std::string& name) const;
  // Makes a part an object, durably. `part` was synced.
  [[nodiscard]] Result<void> publish(const std::string& part, const std::string& name) const;
  // When a file was last written to, in nanoseconds since 1970; nothing where there is none.
  [[nodiscard]] std::optional<std::int64_t> last_write(const std::string& name) const;
  // A file went, or may have come, that nobody took off the account, or put on.
  void lose_account() const;
  // On its disk; all there can be where the file system does not say.
  [[nodiscard]] std::uint64_t free_bytes() const;

 private:
  CacheFolder(std::filesystem::path path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  // Whether `fd` is still what stands under the name: others may have removed or replaced it since.
  [[nodiscard]] bool is_current(int fd, const std::string& name) const;
  [[nodiscard]] Result<Opened> lock_opened(UniqueFd fd, const std::string& name, int operation) const;

  std::filesystem::path path_;
  UniqueFd fd_;
};

}  // namespace ratoon::objects
