// Rollbacks: that a run went back to an older checkpoint by hand (--resume-from), gave up what came after it,
// and passes over samples from there on (--skip). The record of one is a file of its own, made once, and it
// is the commit of the rollback: before it is there nothing has happened, and from then on every start goes
// on from `to`, or from what came of it, whatever flags it has and whatever else lies in the folder.
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

#include "agent/src/checkpoint/file_names.h"

namespace ratoon::checkpoint {

struct Rollback {
  Attempt attempt{0};         // that went back
  CheckpointId to{};          // from where it went on
  std::uint64_t skip = 0;     // slots of the stream, as was asked
  std::uint64_t skip_to = 0;  // the first slot that is taken after it; 0: none is passed over

  friend bool operator==(const Rollback&, const Rollback&) = default;
};

inline constexpr std::size_t kRollbackBytesMax = 4096;

[[nodiscard]] std::string encode_rollback(const Rollback& rollback);
[[nodiscard]] Result<Rollback> decode_rollback(std::string_view text);

// Those that the newest state of the run comes from, oldest first: going back to before a rollback takes it
// back.
[[nodiscard]] std::vector<Rollback> in_force(std::vector<Rollback> all);

// Whether a checkpoint is none any more, by those in force. What an older attempt commits late, too.
[[nodiscard]] bool is_given_up(const CheckpointId& id, std::span<const Rollback> in_force);

// Where a stream goes on that stands at `cursor` once `resumed` is loaded: at `cursor`, or where rollbacks
// that are not in that checkpoint yet lead it.
[[nodiscard]] std::uint64_t slot_after(const CheckpointId& resumed, std::uint64_t cursor,
                                       std::span<const Rollback> in_force);

}  // namespace ratoon::checkpoint
