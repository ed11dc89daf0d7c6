// Reads a run's files for a report, and changes nothing. A run may write its files while read_run() reads
// them.
#pragma once

#include <filesystem>
#include <string>

#include <ratoon/result.h>

#include "cli/report/facts/run_facts.h"

namespace ratoon::cli {

// `folder` is a folder of `ratoon run`, or <save folder>/<run name> of a trainer that ran alone, under a
// launcher or as a member of a job. Returns an error if `folder` is not the folder of a run. Damaged or
// missing files become complaints in the facts.
[[nodiscard]] Result<RunFacts> read_run(const std::filesystem::path& folder);

// Reads a run that saves its checkpoints in an object store, such as s3://bucket/runs/digits. A run in an
// object store has no history.
[[nodiscard]] Result<RunFacts> read_run_in_store(const std::string& uri);

}  // namespace ratoon::cli
