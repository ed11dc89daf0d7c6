#include "agent/src/checkpoint/tiers/stores/abandoned_uploads.h"

#include <algorithm>
#include <chrono>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/format/file_names.h"

namespace ratoon::checkpoint {
namespace {

constexpr std::uint64_t kCheckedAttemptsMax = 8;  // one request per attempt
constexpr Duration kStaleUploadAge = std::chrono::hours(1);

}  // namespace

Result<std::uint64_t> abort_abandoned_uploads(objects::ObjectStore& store, Attempt own,
                                              const std::stop_token& stop) {
  std::uint64_t count = 0;
  const std::uint64_t end = own.value();
  for (std::uint64_t attempt = end - std::min(end, kCheckedAttemptsMax); attempt < end; ++attempt) {
    const CheckpointId any{.attempt = Attempt(attempt), .step = Step(0)};
    // Abort uploads of any age: the process that began an upload of an older attempt is dead or fenced.
    for (const std::string& folder : {packs_folder(any), parts_folder(any)}) {
      const auto aborted = store.abort_stale_uploads(folder_of(folder) + "/", Duration(0), stop);
      if (!aborted) return aborted.error();
      count += *aborted;
    }
  }
  if (!store.local_path(kManifests)) return count;
  // In a store that is a folder (file://), small files such as manifests and claims are first written as
  // temporary files, which a killed process may leave behind. Remove these, too.
  const auto left = store.abort_stale_uploads("", kStaleUploadAge, stop);
  if (!left) return left.error();
  return count + *left;
}

}  // namespace ratoon::checkpoint
