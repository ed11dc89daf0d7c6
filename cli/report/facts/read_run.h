// Reads the files that a run has left in its folder, and changes nothing. The run may be writing at the same
// time.
#pragma once

#include <filesystem>

#include <ratoon/result.h>

#include "cli/report/facts/run_facts.h"

namespace ratoon::cli {

// `folder` is that of `ratoon run`, or <save folder>/<run name> of a program that ran alone, under a launcher
// or as a member. Returns an error if the folder is neither of these. Damaged or missing files become
// complaints in the facts.
[[nodiscard]] Result<RunFacts> read_run(const std::filesystem::path& folder);

}  // namespace ratoon::cli
