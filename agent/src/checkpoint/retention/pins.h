// Pins: small files that exempt checkpoints from the retention rules. Users pin checkpoints with a command,
// and programs through the session. A pin is a file with a name such as pins/s0000001200.a0003.json, and its
// text is the reason. A pin may be created before the checkpoint is committed. A pin keeps the checkpoint
// only in the folder or store that contains the pin: it protects no copy elsewhere.
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

// The maximum number of bytes of a reason that is read from a pin, even if the file is longer.
inline constexpr std::size_t kPinReasonBytesMax = 256;

struct Pin {
  CheckpointId id;
  std::string why{};  // one line, safe to print on a terminal
};

// Returns true if pin() has created the pin, and false if the pin existed. If the checkpoint is already
// pinned, the existing reason stays, unless save_best() made the pin. Because save_best() removes its own
// pins later, pin() then adds a second pin, whose reason is shown. If the manifest still exists after pin()
// returns, the checkpoint is kept, because retire_checkpoint() looks for a pin after it has removed the
// manifest and then restores the manifest.
[[nodiscard]] Result<bool> pin(Disk& disk, const CheckpointId& id, std::string_view why,
                               std::string_view mark);
// Pins the checkpoint if its manifest says that the training program asked to keep it.
[[nodiscard]] Result<void> pin_if_requested(Disk& disk, const Manifest& manifest, std::string_view mark);
[[nodiscard]] Result<void> unpin(Disk& disk, const CheckpointId& id);
// Removes pins that save_best() made for checkpoints that are no longer among the best. The committed
// `manifest` lists the best checkpoints; unpin_no_longer_best() ignores listed checkpoints that do not exist
// on this disk. Pins of checkpoints that are newer than `manifest` stay. If a pin cannot be removed now,
// unpin_no_longer_best() tries again after the next commit.
void unpin_no_longer_best(Disk& disk, const Manifest& manifest);

// Removes the pins for which the training program called unpin(). For each UnpinnedStep in the manifest,
// removes the pins of the checkpoints of its step that are older than UnpinnedStep::since, durably. Call
// unpin_if_requested() before `manifest` is written to this disk, and do not write `manifest` after an error,
// so that a lost process or a failing disk leaves no request undone: if this disk has a manifest that is
// older than `manifest` and not older than `since`, the call for that manifest has already removed the pins.
// A pin that exists now was then created later, and stays. A pin that this process is not permitted to
// remove stays without an error, because a commit is more important than a pin.
[[nodiscard]] Result<void> unpin_if_requested(Disk& disk, const Manifest& manifest);
// Removes the pins of all checkpoints of this step.
[[nodiscard]] Result<void> unpin_step(Disk& disk, Step step);

[[nodiscard]] std::string pin_path(const CheckpointId& id);
[[nodiscard]] Result<bool> is_pinned(const Disk& disk, const CheckpointId& id);
[[nodiscard]] Result<std::set<CheckpointId>> list_pinned(const Disk& disk);
// Lists the pins with their reasons, newest first.
[[nodiscard]] Result<std::vector<Pin>> read_pins(const Disk& disk);
// Returns the reason, or "no reason is noted" if the pin has none or cannot be read.
[[nodiscard]] std::string pin_reason(const Disk& disk, const CheckpointId& id);

}  // namespace ratoon::checkpoint
