// `latest`: a hint for people and scripts: the location of the newest checkpoint. Ratoon does not read the
// link to resume: the link may be missing, old, or point to a retired checkpoint.
//
// In a folder `latest` is a relative link to the rank's pack, which any reader of safetensors opens. In a
// store `latest` is a small object, replaced as a whole:
//   {"attempt": 3, "step": 1200, "manifest": "manifests/...", "digest": "...", "pack": "packs/..."}
// Replacing the link or object is atomic. A late writer of an older checkpoint does not replace a newer link.
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

struct Latest {
  CheckpointId id;
  std::string digest;  // of its manifest
  Rank rank{0};
};

// `name` comes from expand_name() and is relative to the run's place.
[[nodiscard]] Result<void> point_latest(ObjectStoreDisk& store, const std::string& name,
                                        const Latest& latest);

// `mark` names this process in the temporary link. Anything that is not a link belongs to the user and stays.
[[nodiscard]] Result<void> point_latest(const std::filesystem::path& run_folder, const std::string& name,
                                        const Latest& latest, std::string_view mark);

// Returns the pack to which a link or a pointer called `name` leads, or nothing if point_latest() cannot have
// made it.
[[nodiscard]] std::optional<std::string> pack_in_link(const std::string& name,
                                                      const std::filesystem::path& target);
[[nodiscard]] std::optional<std::string> pack_in_pointer(std::string_view text);

inline constexpr std::uint64_t kPointerBytesMax = 4096;

}  // namespace ratoon::checkpoint
