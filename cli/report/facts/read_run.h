// Reads a run's files for a report, and changes nothing. The run may be writing the files at the same
// time.
#pragma once

#include <filesystem>

#include <ratoon/result.h>

#include "cli/report/facts/run_facts.h"

namespace ratoon::cli {

// `folder` is a folder of `ratoon run`, or <save folder>/<run name> of a trainer that ran alone, under a
// launcher or as a member of a job. Returns an error if `folder` is not the folder of a run. Damaged or
// missing files become complaints in the facts.
[[nodiscard]] Result<RunFacts> read_run(const std::filesystem::path& folder);

}  // namespace ratoon::cli
