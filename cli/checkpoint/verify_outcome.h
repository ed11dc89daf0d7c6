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

// If a checkpoint is good, returns 1 if another checkpoint is bad or unreadable, else 0. If none is good,
// returns 84 if a checkpoint is unreadable, else 83 if one is bad or set aside, else 82.
[[nodiscard]] int exit_code_of(std::span<const VerifyResult> verified);

// Returns true if the run retired all of them during the verification, and therefore has newer ones.
[[nodiscard]] bool are_all_retired(std::span<const VerifyResult> verified);

}  // namespace ratoon::cli
