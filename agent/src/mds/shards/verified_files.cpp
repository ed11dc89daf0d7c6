#include "agent/src/mds/shards/verified_files.h"

#include <ctime>

#include "base/core/never_destroyed.h"

namespace ratoon::mds {
namespace {

// The clock of the file system advances in steps of some milliseconds. So a file that was written just now
// may be written again without a change of its file times.
bool is_settled(const FileIdentity& file) {
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
  const bool was_settled = is_settled(file);
  if (const auto sound = check_hashes(expected, bytes); !sound) return sound;
  if (was_settled) note(file, expected);
  return {};
}

void VerifiedFiles::note(const FileIdentity& file, std::span<const FileHash> passed) {
  if (passed.empty()) return;  // check() accepts a file without hashes anyway
  const std::lock_guard lock(mutex_);
  passed_.insert(entry_of(file, passed));
}

std::size_t VerifiedFiles::count() const {
  const std::lock_guard lock(mutex_);
  return passed_.size();
}

}  // namespace ratoon::mds
