// Reading every byte of a checkpoint against its sums.
#pragma once

#include <cstdint>
#include <functional>

#include "cli/checkpoint/survey.h"
#include "cli/checkpoint/verdict.h"

namespace ratoon::cli {

// `on_verified` is told how many bytes were right since it was told last.
[[nodiscard]] Verified verify_checkpoint(const checkpoint::Disk& disk, const FoundCheckpoint& found,
                                         const std::function<void(std::uint64_t)>& on_verified);

}  // namespace ratoon::cli
