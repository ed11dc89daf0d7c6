// VerifiedFiles remembers the files whose hashes this process has checked. A process hashes each shard only
// once, even if the shard is closed and opened again by any data set.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <span>
#include <string>

#include <ratoon/result.h>

#include "agent/src/mds/format/hash.h"
#include "agent/src/mds/shards/shard_bytes.h"
#include "base/core/threads/mutex.h"

namespace ratoon::mds {

// Thread contract: any thread may call any function.
class VerifiedFiles {
 public:
  // Returns the one instance that all data sets of this process share.
  [[nodiscard]] static VerifiedFiles& of_this_process();

  // Checks the hashes of a file with check_hashes(), unless the file has passed the same check before and has
  // not changed since then. A file that was written just now is checked again later, because a further write
  // shortly after may not change the modification time of the file.
  [[nodiscard]] Result<void> check(const FileIdentity& file, std::span<const FileHash> expected,
                                   std::span<const std::byte> bytes);

  // Records that the hashes of the file were checked by other code, for example when the file was fetched.
  void record_verified(const FileIdentity& file, std::span<const FileHash> passed);
  [[nodiscard]] std::size_t count() const;

 private:
  // Limits the files of the same content: a cache that fetches a shard again makes a new file each time.
  static constexpr std::size_t kFilesOfAContentMax = 4;

  mutable Mutex mutex_;
  // The newest files that passed the same hashes, by the text of these hashes.
  std::map<std::string, std::deque<FileIdentity>> files_by_hashes_ RATOON_GUARDED_BY(mutex_);
};

}  // namespace ratoon::mds
