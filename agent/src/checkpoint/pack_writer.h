// Writing a pack: tensors that lie in memory become one file that verifies itself.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <ratoon/result.h>
#include <ratoon/tensor_view.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/manifest.h"

namespace ratoon::checkpoint {

// Durable under its name when it returns, which must be a new one. The views' bytes stay as they are
// meanwhile. The temporary file that `mark` names is gone after a failure.
[[nodiscard]] Result<PackRecord> write_pack_file(Disk& disk, const std::string& path, Rank rank,
                                                 std::span<const TensorView> tensors, std::string_view mark);

}  // namespace ratoon::checkpoint
