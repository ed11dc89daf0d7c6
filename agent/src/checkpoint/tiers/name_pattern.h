// Names that people choose for links, pointers and exported files: "latest-rank{rank}",
// "ep{epoch}-ba{batch}". Pure; the moment comes in as an argument.
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
  WallTime timestamp{};  // as 2026-11-21T11-38-21.250Z: without what file systems and URLs take amiss
};

// {run_name}, {epoch}, {batch}, {rank} and {timestamp} give what they say; any other placeholder, a brace
// that stands alone, and a name that would lead out of its folder are kInvalid.
[[nodiscard]] Result<std::string> expand_name(std::string_view pattern, const NameFacts& facts);

// At the start of a run, before anything was trained: whether a pattern can be expanded, and in a world of
// `ranks_that_write` processes gives each a name of its own.
[[nodiscard]] Result<void> check_pattern(std::string_view pattern, std::uint32_t ranks_that_write);

// Whether names of two checkpoints may differ, so that old ones stay behind.
[[nodiscard]] bool changes_with_checkpoints(std::string_view pattern);

// What all names of a run begin with.
[[nodiscard]] std::string fixed_beginning(std::string_view pattern, const std::string& run_name);

// Whether a checked pattern may give `name` in this run, for some checkpoint and rank.
[[nodiscard]] bool may_give(std::string_view pattern, std::string_view name, const std::string& run_name);

}  // namespace ratoon::checkpoint
