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

// Replaces {run_name}, {epoch}, {batch}, {rank} and {timestamp} by their values. Returns kInvalid for any
// other placeholder, a single brace, or a name that leads out of its folder.
[[nodiscard]] Result<std::string> expand_name(std::string_view pattern, const NameFacts& facts);

// Checks, at the start of a run, that the pattern can be expanded and gives each of
// `ranks_that_write` processes its own name.
[[nodiscard]] Result<void> check_pattern(std::string_view pattern, std::uint32_t ranks_that_write);

// Whether two checkpoints may get different names, so that old names remain beside new names.
[[nodiscard]] bool changes_with_checkpoints(std::string_view pattern);

// The common beginning of all names in a run.
[[nodiscard]] std::string fixed_beginning(std::string_view pattern, const std::string& run_name);

// Whether a checked pattern may give `name` in this run, for some checkpoint and rank.
[[nodiscard]] bool may_give(std::string_view pattern, std::string_view name, const std::string& run_name);

}  // namespace ratoon::checkpoint
