// A rollback is a start at which a user makes the run go back to an older checkpoint (--resume-from). The run
// gives up all checkpoints after the chosen one. With --skip, the run also skips samples that follow the
// chosen checkpoint. A record file, which is written once, commits the rollback: until the file exists, the
// rollback has not happened. Once the record exists, every start of the run resumes from the checkpoint `to`
// or from a later checkpoint that descends from `to`, regardless of flags and other files.
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

// Returns the rollbacks that are in force, oldest first. An earlier rollback is no longer in force if a later
// rollback goes back to a checkpoint whose attempt is older than the attempt of the earlier rollback.
[[nodiscard]] std::vector<Rollback> rollbacks_in_force(std::vector<Rollback> all);

// Returns true if one of the rollbacks in force gave up this checkpoint, even if a process of an older
// attempt commits the checkpoint only after the rollback.
[[nodiscard]] bool is_given_up(const CheckpointId& id, std::span<const Rollback> in_force);

// Returns the slot (position in the stream of samples) at which training continues after the checkpoint
// `resumed` is loaded. This slot is `cursor`, the position in the checkpoint, or a later slot if rollbacks
// newer than `resumed` skip samples.
[[nodiscard]] std::uint64_t slot_after_rollbacks(const CheckpointId& resumed, std::uint64_t cursor,
                                                 std::span<const Rollback> in_force);

}  // namespace ratoon::checkpoint
