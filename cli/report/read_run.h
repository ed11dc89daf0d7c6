// Reads what a run has left in its folder, and changes nothing: it may be writing meanwhile.
#pragma once

#include <filesystem>

#include <ratoon/result.h>

#include "cli/report/facts.h"

namespace ratoon::cli {

// `folder` is that of `ratoon run`, or <save folder>/<run name> of a program that ran alone, under a launcher
// or as a member. An error where it is neither; what is damaged or missing in it is a complaint in the facts.
[[nodiscard]] Result<RunFacts> read_run(const std::filesystem::path& folder);

}  // namespace ratoon::cli
