// Reads every byte of a checkpoint and compares it with its checksums.
#pragma once

#include <cstdint>
#include <functional>

#include "cli/checkpoint/survey.h"
#include "cli/checkpoint/verify_outcome.h"

namespace ratoon::cli {

// `on_verified` gets the number of bytes verified since its last call.
[[nodiscard]] VerifyResult verify_checkpoint(const checkpoint::Disk& disk, const FoundCheckpoint& found,
                                             const std::function<void(std::uint64_t)>& on_verified);

}  // namespace ratoon::cli
