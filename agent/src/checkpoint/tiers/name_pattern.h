// Patterns for the names of links, pointers and exported files: "latest-rank{rank}", "ep{epoch}-ba{batch}".
// The functions are pure: the time is an argument.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "base/core/clock.h"

namespace ratoon::checkpoint {

inline constexpr const char* kLatestPattern = "latest-rank{rank}";

struct NameFacts {
  std::string run_name{};
  std::uint64_t epoch = 0;  // epochs that are over
  std::uint64_t batch = 0;  // steps that are in the weights
  std::uint32_t rank = 0;
  WallTime timestamp{};  // as 2026-11-21T11-38-21.250Z: safe in file names and URLs
};

// Replaces {run_name}, {epoch}, {batch}, {rank} and {timestamp} by their values. Returns kInvalid for an
// unknown placeholder, a single brace, or a name outside the run's folder, such as "../x".
[[nodiscard]] Result<std::string> expand_name(std::string_view pattern, const NameFacts& facts);

// Checks a pattern at the start of a run: it can be expanded, and it gives each of the `ranks_that_write`
// processes that write a file its own name.
[[nodiscard]] Result<void> check_pattern(std::string_view pattern, std::uint32_t ranks_that_write);

// Returns true if the name may differ between two checkpoints, so that names of old checkpoints remain beside
// new names.
[[nodiscard]] bool changes_with_checkpoints(std::string_view pattern);

// Returns the text with which all names that this pattern gives in one run begin.
[[nodiscard]] std::string fixed_beginning(std::string_view pattern, const std::string& run_name);

// Returns true if a pattern that check_pattern() accepted gives `name` for some checkpoint and rank of this
// run.
[[nodiscard]] bool may_give(std::string_view pattern, std::string_view name, const std::string& run_name);

}  // namespace ratoon::checkpoint
