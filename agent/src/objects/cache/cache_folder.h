// CacheFolder: the files in the folder of a cache, and their locks. Files are opened relative to the
// descriptor of the folder, and links are never followed. A lock belongs to an open file (flock), so the
// kernel releases it when the process ends, even by a crash.
//
//   a part, locked        a process writes it: the lock is the right to do so
//   a part, not locked    its writer is dead: any process may take it over or remove it
//   an object             whole, verified and synced since it got its name
//   an object, shared     a process reads it: it is not evicted
//
// Thread contract: any thread may call any function.
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
  // Opens the folder, and creates it if it does not exist.
  [[nodiscard]] static Result<CacheFolder> open(std::filesystem::path folder);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string shown(const std::string& name) const { return (path_ / name).string(); }

  // OpenOutcome is the result of an attempt to open and lock a file without waiting.
  enum class OpenOutcome { kOpen, kMissing, kBusy };
  struct OpenResult {
    OpenOutcome outcome = OpenOutcome::kMissing;
    UniqueFd fd{};
    std::uint64_t size_bytes = 0;
  };
  // Opens a file for reading and locks it with a shared lock. The file is then the most recently used file.
  [[nodiscard]] Result<OpenResult> open_object(const std::string& name) const;
  // Opens a file for writing, with an exclusive lock. Creates the file if it does not exist.
  [[nodiscard]] Result<OpenResult> open_part(const std::string& name) const;
  // Takes the lock of the folder, which a process must hold while it evicts files. Returns kOpen with a
  // closed `fd` if this user may not take the lock.
  [[nodiscard]] Result<OpenResult> try_lock() const;

  struct Contents {
    std::vector<CachedObject> objects;
    std::uint64_t used_bytes = 0;  // of objects, and of parts that have a writer
  };
  // Lists the folder. Removes unfinished files ("parts") to which no process writes, except `own_part`.
  [[nodiscard]] Result<Contents> scan(const std::string& own_part = {}) const;

  // Removes an object, unless a process has it open. Returns true if the object was removed.
  [[nodiscard]] Result<bool> try_evict(const std::string& name) const;
  // Returns the time of the file's last use in nanoseconds since 1970, or nothing if the file does not exist.
  [[nodiscard]] std::optional<std::int64_t> last_use(const std::string& name) const;
  [[nodiscard]] Result<void> remove(const std::string& name) const;
  // Renames an unfinished file (a part) to the final name of its object. The caller must have synced the
  // unfinished file to the disk.
  [[nodiscard]] Result<void> publish(const std::string& part, const std::string& name) const;
  // Returns the time of the file's last write in nanoseconds since 1970, or nothing if the file does not
  // exist.
  [[nodiscard]] std::optional<std::int64_t> last_write(const std::string& name) const;
  // Discards the usage record, which holds the number of bytes of all files. Call discard_usage_record()
  // after a change of files for which the record was not updated.
  void discard_usage_record() const;
  // Returns the number of free bytes on the disk. If the file system does not report this number, returns the
  // largest possible number.
  [[nodiscard]] std::uint64_t free_bytes() const;

 private:
  CacheFolder(std::filesystem::path path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  // Returns true if `name` is still the name of the open file `fd`. Another process may have removed or
  // replaced the file of this name.
  [[nodiscard]] bool is_name_current(int fd, const std::string& name) const;
  [[nodiscard]] Result<OpenResult> lock_opened(UniqueFd fd, const std::string& name, int operation) const;

  std::filesystem::path path_;
  UniqueFd fd_;
};

}  // namespace ratoon::objects
