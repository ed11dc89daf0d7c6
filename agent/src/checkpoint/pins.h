// Pinned checkpoints: those that retention never lets go, since a person or a metric said so. A pin is a
// small file, pins/s0000001200.a0003.json, whose text says why; it may be made before the checkpoint is
// committed. It is of one place: a copy elsewhere is not pinned with it.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/file_names.h"
#include "agent/src/checkpoint/manifest.h"

namespace ratoon::checkpoint {

// What is shown of a reason, whatever lies in the file.
inline constexpr std::size_t kPinReasonBytesMax = 256;

struct Pin {
  CheckpointId id;
  std::string why{};  // one line that a terminal can be shown
};

// Whether it is new: pinning what is pinned is no error, and the first reason stands. Whoever finds the
// manifest in its place after that has the checkpoint for good: retire_checkpoint() looks last.
[[nodiscard]] Result<bool> pin(Disk& disk, const CheckpointId& id, std::string_view why,
                               std::string_view mark);
// Where its program wants it kept.
[[nodiscard]] Result<void> pin_as_wished(Disk& disk, const Manifest& manifest, std::string_view mark);
[[nodiscard]] Result<void> unpin(Disk& disk, const CheckpointId& id);

[[nodiscard]] std::string pin_path(const CheckpointId& id);
[[nodiscard]] Result<bool> is_pinned(const Disk& disk, const CheckpointId& id);
[[nodiscard]] Result<std::set<CheckpointId>> pinned_in(const Disk& disk);
// With their reasons, newest first.
[[nodiscard]] Result<std::vector<Pin>> read_pins(const Disk& disk);
// "no reason is noted" where there is none, or where it cannot be read.
[[nodiscard]] std::string why_pinned(const Disk& disk, const CheckpointId& id);

}  // namespace ratoon::checkpoint
