// Reads the positions of a run's sample streams (training data) from its newest checkpoint.
#pragma once

#include <vector>

#include "agent/src/checkpoint/disk/disk.h"
#include "cli/report/facts/run_facts.h"

namespace ratoon::cli {

// Returns an empty list if there is no checkpoint, or none with a sample stream. Reading verifies the data's
// checksums.
[[nodiscard]] std::vector<ConsumedSamples> read_samples(const checkpoint::Disk& disk);

}  // namespace ratoon::cli
