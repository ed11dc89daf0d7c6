#include "agent/src/checkpoint/tiers/stores/abandoned_uploads.h"

#include <algorithm>
#include <chrono>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/format/file_names.h"

namespace ratoon::checkpoint {
namespace {

constexpr std::uint64_t kAttemptsMax = 8;  // one request per attempt
constexpr Duration kLongAgo = std::chrono::hours(1);

}  // namespace

Result<std::uint64_t> abort_abandoned_uploads(objects::ObjectStore& store, Attempt own,
                                              const std::stop_token& stop) {
  std::uint64_t count = 0;
  const std::uint64_t end = own.value();
  for (std::uint64_t attempt = end - std::min(end, kAttemptsMax); attempt < end; ++attempt) {
    const CheckpointId any{.attempt = Attempt(attempt), .step = Step(0)};
    // Abort uploads of any age: the process that began an upload of an older attempt is dead or fenced.
    const auto aborted = store.abort_stale_uploads(folder_of(packs_folder(any)) + "/", Duration(0), stop);
    if (!aborted) return aborted.error();
    count += *aborted;
  }
  if (!store.local_path(kManifests)) return count;
  // If the store is a folder (file://), small files such as manifests and claims are written as temporary
  // files first, so these may remain, too.
  const auto left = store.abort_stale_uploads("", kLongAgo, stop);
  if (!left) return left.error();
  return count + *left;
}

}  // namespace ratoon::checkpoint
