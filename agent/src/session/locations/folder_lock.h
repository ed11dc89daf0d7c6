// FolderLocks: the locks on the folders of a run, which ensure that only one run uses a folder at a time. In
// a run with a coordinator, each process has a shared lock. In a run without a coordinator, only rank 0 has a
// lock, which is exclusive. The lock ends when its process ends, even if a forked child of this process still
// runs. A folder of --stores also gets a shared lock, because a process that trains alone in that folder
// checks the lock but no claims. If a folder of --stores cannot be locked, a warning is printed.
//
// If the run saves to a bucket instead of a folder, the lock is an abstract socket name in this machine's
// network namespace. The socket lock is needed because a claim in the bucket does not distinguish two
// processes of one machine. In a run of several processes, no process takes the socket lock, and
// lock_folders() returns a closed descriptor.
#pragma once

#include <vector>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/calls_with_timeout.h"
#include "agent/src/session/locations/held_lock.h"
#include "base/core/fd_closed_on_fork.h"

namespace ratoon::session {

enum class FolderUse { kExclusive, kShared };

using FolderLocks = std::vector<FdClosedOnFork>;

// Locks the run's folders. Returns kAlreadyExists if a running process holds a lock. Returns kUnavailable,
// after a wait (held_lock.h), if the machine of the holder may have failed, and kTimeout if the disk of the
// run's folder hangs.
[[nodiscard]] Result<FolderLocks> lock_folders(const Options& options, FolderUse use,
                                               checkpoint::CallsWithTimeout& calls,
                                               const LockWaitOptions& waiting = {});

}  // namespace ratoon::session
