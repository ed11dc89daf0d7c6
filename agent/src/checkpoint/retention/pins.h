// Pinned checkpoints, which retention never removes. A person or a program pins checkpoints. A pin is a small
// file, pins/s0000001200.a0003.json, whose text is the reason. A pin may be created before the checkpoint is
// committed. A pin counts only in its own folder or store: it protects no copy in another place.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/format/file_names.h"
#include "agent/src/checkpoint/format/manifest.h"

namespace ratoon::checkpoint {

// The maximum length of a reason that is shown, however long the file is.
inline constexpr std::size_t kPinReasonBytesMax = 256;

struct Pin {
  CheckpointId id;
  std::string why{};  // one line, safe to print on a terminal
};

// Returns whether the pin is new. If the checkpoint is already pinned, the first reason stays; but a
// pin of save_best(), which is removed with time, is replaced by any other pin. If the manifest
// still exists after pin() returns, the checkpoint is kept: retire_checkpoint() checks for pins
// last.
[[nodiscard]] Result<bool> pin(Disk& disk, const CheckpointId& id, std::string_view why,
                               std::string_view mark);
// Pins the checkpoint if its program asked to keep it.
[[nodiscard]] Result<void> pin_as_requested(Disk& disk, const Manifest& manifest, std::string_view mark);
[[nodiscard]] Result<void> unpin(Disk& disk, const CheckpointId& id);
// Removes the pins of save_best() from checkpoints that, by the lists in this committed manifest, are not
// among the best checkpoints that exist in this place. Pins of newer checkpoints stay. A pin that cannot be
// removed now is removed with the next manifest, if there is one.
void unpin_beaten(Disk& disk, const Manifest& manifest);

[[nodiscard]] std::string pin_path(const CheckpointId& id);
[[nodiscard]] Result<bool> is_pinned(const Disk& disk, const CheckpointId& id);
[[nodiscard]] Result<std::set<CheckpointId>> pinned_in(const Disk& disk);
// Lists the pins with their reasons, newest first.
[[nodiscard]] Result<std::vector<Pin>> read_pins(const Disk& disk);
// Returns the reason, or "no reason is noted" if the pin has none or cannot be read.
[[nodiscard]] std::string why_pinned(const Disk& disk, const CheckpointId& id);

}  // namespace ratoon::checkpoint
