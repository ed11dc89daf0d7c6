// What `verify` found, and what a script is told by the exit code.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "agent/src/checkpoint/file_names.h"

namespace ratoon::cli {

enum class Verdict {
  kGood,        // every byte is what was committed
  kBad,         // bytes are missing or others
  kUnreadable,  // the disk refuses some of them; they may be right
  kSetAside,    // a run found it bad before
  kRetired,     // its run retired it while we looked
};

// The word of tables and of --json: "good", "bad", "unreadable", "set aside", "retired".
[[nodiscard]] std::string_view name_of(Verdict verdict);

struct Verified {
  checkpoint::CheckpointId id;
  Verdict verdict = Verdict::kGood;
  std::string why{};  // where it is not good
  std::uint64_t size_bytes = 0;
};

// 0: all good; 1: a good one is there, and a bad or unreadable one; 84: none is good, and the disk refuses
// some; 83: none is good; 82: there is none.
[[nodiscard]] int exit_code_of(std::span<const Verified> verified);

}  // namespace ratoon::cli
