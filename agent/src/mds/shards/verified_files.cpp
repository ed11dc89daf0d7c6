#include "agent/src/mds/shards/verified_files.h"

#include <ctime>

#include "base/core/never_destroyed.h"

namespace ratoon::mds {
namespace {

// Returns false if the file was written just now. The clock of the file system advances in steps of some
// milliseconds, so a second write in the same step leaves the modification time unchanged.
bool has_stable_file_times(const FileIdentity& file) {
  constexpr std::int64_t kSettledNanoseconds = 2'000'000'000;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec - file.changed_nanoseconds >
         kSettledNanoseconds;
}

}  // namespace

VerifiedFiles& VerifiedFiles::of_this_process() {
  static const NeverDestroyed<VerifiedFiles> files;
  return *files;
}

VerifiedFiles::VerifiedFile VerifiedFiles::entry_of(const FileIdentity& file,
                                                    std::span<const FileHash> hashes) {
  VerifiedFile entry{file, {}};
  for (const FileHash& hash : hashes) entry.second += hash.algorithm + " " + hash.digest + " ";
  return entry;
}

Result<void> VerifiedFiles::check(const FileIdentity& file, std::span<const FileHash> expected,
                                  std::span<const std::byte> bytes) {
  if (expected.empty()) return {};
  {
    const std::lock_guard lock(mutex_);
    if (verified_.contains(entry_of(file, expected))) return {};
  }
  const bool was_settled = has_stable_file_times(file);
  if (const auto sound = check_hashes(expected, bytes); !sound) return sound;
  if (was_settled) record_verified(file, expected);
  return {};
}

void VerifiedFiles::record_verified(const FileIdentity& file, std::span<const FileHash> passed) {
  if (passed.empty()) return;  // check() accepts a file without hashes anyway
  const std::lock_guard lock(mutex_);
  verified_.insert(entry_of(file, passed));
}

std::size_t VerifiedFiles::count() const {
  const std::lock_guard lock(mutex_);
  return verified_.size();
}

}  // namespace ratoon::mds
