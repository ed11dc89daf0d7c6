// The outcome of `ratoon checkpoint verify`, and its exit code for scripts.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "agent/src/checkpoint/format/file_names.h"

namespace ratoon::cli {

enum class VerifyOutcome {
  kGood,        // every byte is as it was committed
  kBad,         // bytes are missing or differ
  kUnreadable,  // the disk cannot read some bytes; they may be right
  kSetAside,    // a run found it damaged before
  kRetired,     // its run retired it during the verification
};

// Returns the outcome's name for tables and --json: "good", "bad", "unreadable", "set aside", "retired".
[[nodiscard]] std::string_view name_of(VerifyOutcome verdict);

struct VerifyResult {
  checkpoint::CheckpointId id;
  VerifyOutcome verdict = VerifyOutcome::kGood;
  std::string why{};  // where it is not good
  std::uint64_t size_bytes = 0;
};

// Returns 0 if all checkpoints are good, 1 if some are good and others not, 84 if none is good and the disk
// cannot read some, 83 if none is good and all are readable, 82 if there is no checkpoint.
[[nodiscard]] int exit_code_of(std::span<const VerifyResult> verified);

}  // namespace ratoon::cli
