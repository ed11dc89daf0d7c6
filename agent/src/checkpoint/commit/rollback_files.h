// Reads and writes the records of rollbacks in a run's folder or object store. rollback.h explains these
// records.
#pragma once

#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/format/rollback.h"

namespace ratoon::checkpoint {

// Returns all records of rollbacks on this disk, oldest first.
[[nodiscard]] Result<std::vector<Rollback>> rollbacks_in(const Disk& disk);

// Writes the record of one rollback, durably. Succeeds if the same record exists already. Returns kConflict
// if this attempt already has a different rollback record.
[[nodiscard]] Result<void> record_rollback(Disk& disk, const Rollback& rollback, std::string_view mark);

}  // namespace ratoon::checkpoint
