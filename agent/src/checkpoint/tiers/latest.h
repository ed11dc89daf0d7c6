// Writes and reads `latest`, a link or object that shows users and scripts where the newest checkpoint is.
// Ratoon does not read the link to resume, because the link may be missing, old, or point to a checkpoint
// that was removed.
//
// In a folder `latest` is a relative link to the rank's pack, which any reader of safetensors opens. In an
// object store `latest` is a small object with these contents:
//   {"attempt": 3, "step": 1200, "manifest": "manifests/...", "digest": "...", "pack": "packs/..."}
// update_latest() replaces the link or object atomically. If a slow process wants to replace a link to a
// newer checkpoint by a link to an older one, the link does not change.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "agent/src/checkpoint/format/file_names.h"
#include "agent/src/checkpoint/tiers/stores/object_store_disk.h"
#include "base/contract/messages.h"

namespace ratoon::checkpoint {

struct LatestCheckpoint {
  CheckpointId id;
  std::string digest;  // of its manifest
  Rank rank{0};
};

// `name` is a result of expand_name(), relative to the run's folder or store.
[[nodiscard]] Result<void> update_latest(ObjectStoreDisk& store, const std::string& name,
                                         const LatestCheckpoint& latest);

// `mark` is a text, unique to this process, in the name of the temporary link. If the existing file of this
// name is not a link, the file belongs to the user and stays.
[[nodiscard]] Result<void> update_latest(const std::filesystem::path& run_folder, const std::string& name,
                                         const LatestCheckpoint& latest, std::string_view mark);

// Returns the pack to which a link or a pointer called `name` leads. Returns nothing if update_latest()
// cannot have made this link or pointer.
[[nodiscard]] std::optional<std::string> pack_in_link(const std::string& name,
                                                      const std::filesystem::path& target);
[[nodiscard]] std::optional<std::string> pack_in_pointer(std::string_view text);

inline constexpr std::uint64_t kPointerBytesMax = 4096;

}  // namespace ratoon::checkpoint
