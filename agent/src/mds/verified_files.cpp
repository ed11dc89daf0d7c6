#include "agent/src/mds/verified_files.h"

namespace ratoon::mds {

VerifiedFiles& VerifiedFiles::of_this_process() {
  static VerifiedFiles files;
  return files;
}

VerifiedFiles::Passed VerifiedFiles::entry_of(const FileIdentity& file, std::span<const FileHash> hashes) {
  Passed entry{file, {}};
  for (const FileHash& hash : hashes) entry.second += hash.algorithm + " " + hash.digest + " ";
  return entry;
}

Result<void> VerifiedFiles::check(const FileIdentity& file, std::span<const FileHash> expected,
                                  std::span<const std::byte> bytes) {
  if (expected.empty()) return {};
  {
    const std::lock_guard lock(mutex_);
    if (passed_.contains(entry_of(file, expected))) return {};
  }
  if (const auto sound = check_hashes(expected, bytes); !sound) return sound;
  note(file, expected);
  return {};
}

void VerifiedFiles::note(const FileIdentity& file, std::span<const FileHash> passed) {
  const std::lock_guard lock(mutex_);
  passed_.insert(entry_of(file, passed));
}

}  // namespace ratoon::mds
