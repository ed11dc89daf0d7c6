// VerifiedFiles remembers the files whose hashes this process has checked. Therefore each shard is hashed
// only once, even if it is closed and opened again, by the same or another data set.
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

// Thread contract: any thread may call any function.
class VerifiedFiles {
 public:
  // Returns the one instance that all data sets of this process share.
  [[nodiscard]] static VerifiedFiles& of_this_process();

  // Checks the hashes of a file with check_hashes(), unless the file has passed the same check before and has
  // not changed since then. A write that shortly follows another write may not change the modification time
  // of the file. Therefore the check of a file that was written just now is not remembered.
  [[nodiscard]] Result<void> check(const FileIdentity& file, std::span<const FileHash> expected,
                                   std::span<const std::byte> bytes);

  // Records that the hashes of the file were checked by other code, for example when the file was fetched.
  void note(const FileIdentity& file, std::span<const FileHash> passed);
  [[nodiscard]] std::size_t count() const;

 private:
  using Passed = std::pair<FileIdentity, std::string>;  // with the hashes that it passed
  static Passed entry_of(const FileIdentity& file, std::span<const FileHash> hashes);

  mutable std::mutex mutex_;
  std::set<Passed> passed_;  // guarded by mutex_
};

}  // namespace ratoon::mds
