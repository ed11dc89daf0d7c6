// Files whose hashes this process has checked, so that a shard is hashed once however often it is opened: by
// another data set, by the next attempt, after its mapping was given up.
#pragma once

#include <cstddef>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>

#include <ratoon/result.h>

#include "agent/src/mds/format/hash.h"
#include "agent/src/mds/shard_bytes.h"

namespace ratoon::mds {

// Thread contract: any thread.
class VerifiedFiles {
 public:
  // The one of this process.
  [[nodiscard]] static VerifiedFiles& of_this_process();

  // As check_hashes(), unless the same file in the same state has passed the same check before. A file that
  // is written to has another time, unless that was a moment ago: then it is not remembered.
  [[nodiscard]] Result<void> check(const FileIdentity& file, std::span<const FileHash> expected,
                                   std::span<const std::byte> bytes);

  // That it has passed elsewhere: when it was fetched.
  void note(const FileIdentity& file, std::span<const FileHash> passed);
  [[nodiscard]] std::size_t count() const;

 private:
  using Passed = std::pair<FileIdentity, std::string>;  // and the hashes that it passed
  static Passed entry_of(const FileIdentity& file, std::span<const FileHash> hashes);

  mutable std::mutex mutex_;
  std::set<Passed> passed_;  // guarded by mutex_
};

}  // namespace ratoon::mds
