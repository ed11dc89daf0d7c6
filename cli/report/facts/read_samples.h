// The positions of the sample streams in the newest checkpoint of a run.
#pragma once

#include <vector>

#include "agent/src/checkpoint/disk/disk.h"
#include "cli/report/facts/run_facts.h"

namespace ratoon::cli {

// The value is empty if there is no checkpoint, or no checkpoint with a stream. The data is verified when it
// is read.
[[nodiscard]] std::vector<ConsumedSamples> read_samples(const checkpoint::Disk& disk);

}  // namespace ratoon::cli
