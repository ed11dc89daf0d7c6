// Locks on the folders of a run. A folder belongs to one run at a time: a process that trains alone holds its
// lock exclusively, and the processes of a world share it. The lock ends with its holder, even if a forked
// child of the holder still runs. A folder that receives copies (--stores) is locked as shared, too, because
// a process that trains alone in that folder does not read the claims there. If the folder of a store cannot
// be locked, a warning is printed.
//
// If the home of the run is a bucket, the lock is a socket name of this machine (of this network namespace).
// The socket name tells processes of one machine apart, which claims in the bucket would treat as starts of
// one job. The processes of a world take no socket lock: lock_folders() returns a closed descriptor.
#pragma once

#include <vector>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/calls_with_timeout.h"
#include "agent/src/session/locations/held_lock.h"
#include "base/core/unforked_fd.h"

namespace ratoon::session {

enum class FolderUse { kAlone, kTogether };

using FolderLocks = std::vector<UnforkedFd>;

// Returns kAlreadyExists if a process that is known to live holds one of the locks; kUnavailable, after a
// wait (held_lock.h), if the machine of the holder may have failed; kTimeout if the run's own folder hangs
// with its disk.
[[nodiscard]] Result<FolderLocks> lock_folders(const Options& options, FolderUse use,
                                               checkpoint::CallsWithTimeout& calls,
                                               const LockWaiting& waiting = {});

}  // namespace ratoon::session
