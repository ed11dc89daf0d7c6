// The identity of the job whose process this is: drawn at random, the same for all its processes and over its
// restarts, and no other job's. Claims, packs and receipts carry it.
//
//   of a coordinator's job     its UID (RATOON_JOB_UID): a cluster's, or that of the folder of `ratoon run`
//   in a folder, without one   the run's folder has it in the file `owner`, made by the first start
//   in a bucket, without one   that of the machine's start and its network namespace, as far as the lock of
//                              such a run reaches (folder_lock.h)
#pragma once

#include <string>
#include <string_view>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"

namespace ratoon::session {

// Empty where the one that started this process did not say, and where the file is damaged: then nothing is
// compared. `mark` names this process in temporary files.
[[nodiscard]] Result<std::string> identity_of(const Options& options, checkpoint::Disk& home,
                                              std::string_view mark);

}  // namespace ratoon::session
