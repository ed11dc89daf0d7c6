// `latest`: a hint for people and scripts where the newest checkpoint is. Nothing of ours reads it to resume:
// it may be missing, old, or point to what was retired.
//
// In a folder it is a relative link to the rank's pack, which any reader of safetensors opens. In a store it
// is a small object, replaced as a whole:
//   {"attempt": 3, "step": 1200, "manifest": "manifests/...", "digest": "...", "pack": "packs/..."}
// There is no moment at which it is not there, and a late writer of an older checkpoint does not turn it
// back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "agent/src/checkpoint/file_names.h"
#include "agent/src/checkpoint/tiers/store_disk.h"
#include "base/contract/messages.h"

namespace ratoon::checkpoint {

struct Latest {
  CheckpointId id;
  std::string digest;  // of its manifest
  Rank rank{0};
};

// `name` is one that expand_name() gave, below the run's place.
[[nodiscard]] Result<void> point_latest(StoreDisk& store, const std::string& name, const Latest& latest);

// `mark` names this process in the temporary link. Something that is not a link is a person's own and stays.
[[nodiscard]] Result<void> point_latest(const std::filesystem::path& run_folder, const std::string& name,
                                        const Latest& latest, std::string_view mark);

// Which pack a link called `name`, or a pointer, leads to, if point_latest() may have made it; else nothing.
[[nodiscard]] std::optional<std::string> pack_in_link(const std::string& name,
                                                      const std::filesystem::path& target);
[[nodiscard]] std::optional<std::string> pack_in_pointer(std::string_view text);

inline constexpr std::uint64_t kPointerBytesMax = 4096;

}  // namespace ratoon::checkpoint
