// Records of rollbacks in the places of a run; rollback.h says what they mean.
#pragma once

#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/rollback.h"

namespace ratoon::checkpoint {

// All that were ever made here, oldest first.
[[nodiscard]] Result<std::vector<Rollback>> rollbacks_in(const Disk& disk);

// Makes the record, durably. That the same one is there is no error; kConflict: another one is.
[[nodiscard]] Result<void> record_rollback(Disk& disk, const Rollback& rollback, std::string_view mark);

}  // namespace ratoon::checkpoint
