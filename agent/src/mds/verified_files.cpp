#include "agent/src/mds/verified_files.h"

namespace ratoon::mds {

VerifiedFiles& VerifiedFiles::of_this_process() {
  static VerifiedFiles files;
  return files;
}

Result<void> VerifiedFiles::check(const FileIdentity& file, std::span<const FileHash> expected,
                                  std::span<const std::byte> bytes) {
  if (expected.empty()) return {};
  Passed entry{file, {}};
  for (const FileHash& hash : expected) std::get<1>(entry) += hash.algorithm + " " + hash.digest + " ";
  {
    const std::lock_guard lock(mutex_);
    if (passed_.contains(entry)) return {};
  }
  if (const auto sound = check_hashes(expected, bytes); !sound) return sound;
  const std::lock_guard lock(mutex_);
  passed_.insert(std::move(entry));
  return {};
}

}  // namespace ratoon::mds
