// Makes the name of an exported file: replaces placeholders such as {epoch} by facts of the checkpoint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ratoon/result.h>

#include "agent/src/checkpoint/format/manifest.h"
#include "base/core/clock.h"

namespace ratoon::cli {

// For example, "out/{run_name}-ep{epoch}.pt" of the run "runs/digits" after 3 epochs and a half is
// "out/digits-ep3.pt". The folder of the path, and a file name without braces, stay unchanged. Returns
// kInvalid for an unknown placeholder.
[[nodiscard]] Result<std::string> make_export_name(const std::string& file, const std::string& run,
                                                   const checkpoint::Manifest& manifest,
                                                   std::optional<std::uint32_t> rank, WallTime now);

}  // namespace ratoon::cli
