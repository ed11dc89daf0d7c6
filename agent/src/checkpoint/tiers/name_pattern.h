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

struct PatternValues {
  std::string run_name{};
  std::uint64_t epoch = 0;  // epochs that are over
  std::uint64_t batch = 0;  // steps that are in the weights
  std::uint32_t rank = 0;
  WallTime timestamp{};  // as 2026-11-21T11-38-21.250Z: safe in file names and URLs
};

// Replaces {run_name}, {epoch}, {batch}, {rank} and {timestamp} by their values. Returns kInvalid for an
// unknown placeholder, a single brace, or a name outside the run's folder, such as "../x".
[[nodiscard]] Result<std::string> expand_name(std::string_view pattern, const PatternValues& facts);

// Checks at the start of a run that the pattern can be expanded, and that it gives a different name to each
// of the `ranks_that_write` processes that write a file.
[[nodiscard]] Result<void> check_pattern(std::string_view pattern, std::uint32_t ranks_that_write);

// Returns true if the pattern may give the links of two checkpoints different names. The link of a new
// checkpoint then does not replace the link of an old checkpoint.
[[nodiscard]] bool changes_with_checkpoints(std::string_view pattern);

// Returns the common beginning of all names that this pattern gives in one run.
[[nodiscard]] std::string fixed_beginning(std::string_view pattern, const std::string& run_name);

// Returns true if a pattern that check_pattern() accepted gives `name` for some checkpoint and rank of this
// run.
[[nodiscard]] bool can_expand_to(std::string_view pattern, std::string_view name,
                                 const std::string& run_name);

}  // namespace ratoon::checkpoint
