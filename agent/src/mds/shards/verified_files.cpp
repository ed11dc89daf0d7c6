#include "agent/src/mds/shards/verified_files.h"

#include <algorithm>
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

std::string text_of(std::span<const FileHash> hashes) {
  std::string text;
  for (const FileHash& hash : hashes) text += hash.algorithm + " " + hash.digest + " ";
  return text;
}

}  // namespace

VerifiedFiles& VerifiedFiles::of_this_process() {
  static const NeverDestroyed<VerifiedFiles> files;
  return *files;
}

Result<void> VerifiedFiles::check(const FileIdentity& file, std::span<const FileHash> expected,
                                  std::span<const std::byte> bytes) {
  if (expected.empty()) return {};
  {
    const MutexLock lock(mutex_);
    const auto known = files_by_hashes_.find(text_of(expected));
    if (known != files_by_hashes_.end() && std::ranges::find(known->second, file) != known->second.end())
      return {};
  }
  const bool was_settled = has_stable_file_times(file);
  if (const auto sound = check_hashes(expected, bytes); !sound) return sound;
  if (was_settled) record_verified(file, expected);
  return {};
}

void VerifiedFiles::record_verified(const FileIdentity& file, std::span<const FileHash> passed) {
  if (passed.empty()) return;  // check() accepts a file without hashes anyway
  const MutexLock lock(mutex_);
  auto& files = files_by_hashes_[text_of(passed)];
  if (std::ranges::find(files, file) != files.end()) return;
  files.push_back(file);
  if (files.size() > kFilesOfAContentMax) files.pop_front();
}

std::size_t VerifiedFiles::count() const {
  const MutexLock lock(mutex_);
  std::size_t files = 0;
  for (const auto& [hashes, of_content] : files_by_hashes_) files += of_content.size();
  return files;
}

}  // namespace ratoon::mds
