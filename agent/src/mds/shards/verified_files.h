// VerifiedFiles remembers the files whose hashes this process has checked. A shard is hashed once, even if
// another data set or the next attempt opens it again, or it is opened after it was closed.
#pragma once

#include <cstddef>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>

#include <ratoon/result.h>

#include "agent/src/mds/format/hash.h"
#include "agent/src/mds/shards/shard_bytes.h"

namespace ratoon::mds {

// Thread contract: any thread.
class VerifiedFiles {
 public:
  // Returns the instance of this process.
  [[nodiscard]] static VerifiedFiles& of_this_process();

  // Checks hashes as check_hashes() does, unless this file, unchanged, has passed the same check before.
  // Writing a file changes its modification time, except shortly after another write. A file that was written
  // just now could change once more and keep its times, so its check is not remembered.
  [[nodiscard]] Result<void> check(const FileIdentity& file, std::span<const FileHash> expected,
                                   std::span<const std::byte> bytes);

  // Records that the file has passed a check elsewhere, for example when it was fetched.
  void note(const FileIdentity& file, std::span<const FileHash> passed);
  [[nodiscard]] std::size_t count() const;

 private:
  using Passed = std::pair<FileIdentity, std::string>;  // with the hashes that it passed
  static Passed entry_of(const FileIdentity& file, std::span<const FileHash> hashes);

  mutable std::mutex mutex_;
  std::set<Passed> passed_;  // guarded by mutex_
};

}  // namespace ratoon::mds
