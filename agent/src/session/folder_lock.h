// A run's folder belongs to one run at a time: a process that trains alone holds it for itself, the processes
// of a world hold it together. The lock dies with its holder, however that ends.
#pragma once

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "base/core/unique_fd.h"

namespace ratoon::session {

enum class FolderUse { kAlone, kTogether };

[[nodiscard]] Result<UniqueFd> lock_folder(const Options& options, FolderUse use);

}  // namespace ratoon::session
