// Reads and writes the records of rollbacks in a place of a run. rollback.h explains them.
#pragma once

#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/format/rollback.h"

namespace ratoon::checkpoint {

// Returns all records of rollbacks in this place, oldest first.
[[nodiscard]] Result<std::vector<Rollback>> rollbacks_in(const Disk& disk);

// Writes the record, durably. If the same record exists already, the call succeeds. Returns kConflict if a
// different record exists.
[[nodiscard]] Result<void> record_rollback(Disk& disk, const Rollback& rollback, std::string_view mark);

}  // namespace ratoon::checkpoint
