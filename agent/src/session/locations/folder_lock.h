// Locks on the folders of a run. A folder belongs to one run at a time: a process that trains alone holds its
// lock exclusively, and the processes of a world share it. The lock ends with its holder, even if a process
// that it forked still runs. A folder that receives copies (--stores) is locked as shared, too: another
// process may train in that folder alone, and such a process does not read the folder's claims. If the folder
// of a store cannot be locked, a warning is printed.
//
// If the home of the run is a bucket, the lock is a socket name of this machine (of this network namespace).
// The socket name separates processes of one machine, which claims in the bucket would treat as starts of one
// job. The processes of a world take no such lock, and the descriptor that is returned is closed.
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

// kAlreadyExists if another process holds one of the locks and is known to live. kUnavailable if the machine
// of that process may have failed, which this process waits for (held_lock.h). kTimeout if the run's own
// folder hangs with its disk.
[[nodiscard]] Result<FolderLocks> lock_folders(const Options& options, FolderUse use,
                                               checkpoint::CallsWithTimeout& calls,
                                               const LockWaiting& waiting = {});

// Whether a lock in the home of the run excludes all processes that can reach the home: the home is a folder
// on a file system of this machine. On a disk that does not answer it is assumed not to.
[[nodiscard]] bool has_home_lock(const Options& options, checkpoint::CallsWithTimeout& calls);

}  // namespace ratoon::session
