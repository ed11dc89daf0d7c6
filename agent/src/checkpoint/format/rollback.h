// Rollbacks: a user sends a run back to an older checkpoint (--resume-from). The run gives up all later
// checkpoints, and skips samples from that checkpoint on (--skip). A separate file, which is written once, is
// the record of a rollback and also its commit: before the file exists, nothing has happened. Once the record
// exists, every start resumes from `to`, or from a checkpoint that descends from it, regardless of the flags
// of the start and of other files in the folder.
//
//   a0003: steps 10 20 30 40      rollbacks/a0004.json: to step 20 of attempt 3
//   a0004:    from 20: 30         a0003's 30 and 40 are given up; the newest is a0004's 30
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/format/file_names.h"

namespace ratoon::checkpoint {

struct Rollback {
  Attempt attempt{0};         // the attempt that went back
  CheckpointId to{};          // the checkpoint from which it resumed
  std::uint64_t skip = 0;     // slots of the stream to pass over, as requested
  std::uint64_t skip_to = 0;  // the first slot after those; 0: none is passed over

  friend bool operator==(const Rollback&, const Rollback&) = default;
};

inline constexpr std::size_t kRollbackBytesMax = 4096;

[[nodiscard]] std::string encode_rollback(const Rollback& rollback);
[[nodiscard]] Result<Rollback> decode_rollback(std::string_view text);

// The rollbacks from which the newest state of the run descends, oldest first. A rollback to a checkpoint
// from before an older rollback revokes that older rollback.
[[nodiscard]] std::vector<Rollback> in_force(std::vector<Rollback> all);

// Whether the rollbacks in force gave up this checkpoint; also true for a checkpoint that an older attempt
// commits after the rollback.
[[nodiscard]] bool is_given_up(const CheckpointId& id, std::span<const Rollback> in_force);

// Returns the slot at which a stream continues after the checkpoint `resumed` is loaded, which is `cursor`,
// the slot in that checkpoint, or a later slot if rollbacks newer than `resumed` skip samples.
[[nodiscard]] std::uint64_t slot_after(const CheckpointId& resumed, std::uint64_t cursor,
                                       std::span<const Rollback> in_force);

}  // namespace ratoon::checkpoint
