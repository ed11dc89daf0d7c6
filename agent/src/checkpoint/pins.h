// Pinned checkpoints: those that retention never lets go, since a person or a metric said so. A pin is a
// small file, pins/s0000001200.a0003.json, whose text says why; it may be made before the checkpoint is
// committed.
#pragma once

#include <set>
#include <string_view>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/file_names.h"
#include "agent/src/checkpoint/manifest.h"

namespace ratoon::checkpoint {

// Pinning what is pinned is no error, and the first reason stands.
[[nodiscard]] Result<void> pin(Disk& disk, const CheckpointId& id, std::string_view why,
                               std::string_view mark);
// Where its program wants it kept.
[[nodiscard]] Result<void> pin_as_wished(Disk& disk, const Manifest& manifest, std::string_view mark);
[[nodiscard]] Result<void> unpin(Disk& disk, const CheckpointId& id);
[[nodiscard]] Result<std::set<CheckpointId>> pinned_in(const Disk& disk);

}  // namespace ratoon::checkpoint
