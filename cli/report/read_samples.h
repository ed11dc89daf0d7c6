// How far the streams of samples are, as the newest checkpoint of a run has them.
#pragma once

#include <vector>

#include "agent/src/checkpoint/disk/disk.h"
#include "cli/report/facts.h"

namespace ratoon::cli {

// Nothing where there is no checkpoint, or none with a stream; verified as everything that is read.
[[nodiscard]] std::vector<ConsumedSamples> read_samples(const checkpoint::Disk& disk);

}  // namespace ratoon::cli
