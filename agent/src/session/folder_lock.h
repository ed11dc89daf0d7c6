// A run's folder belongs to one run at a time: a process that trains alone holds it for itself, the processes
// of a world hold it together. The lock dies with its holder, however that ends, and whatever it has
// forked. A folder in which it keeps copies (--stores) is held together as well: another process may train in
// that folder alone, and looks at no claim there. A store's folder that cannot be locked is said on stderr.
//
// Where the run has no folder but a bucket, the lock is a name of this machine (of this network namespace):
// it keeps processes of one machine apart, which claims in the bucket take for starts of one job. A world has
// none there, and what is returned is closed.
#pragma once

#include <vector>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/patient_calls.h"
#include "agent/src/session/held_lock.h"
#include "base/core/unforked_fd.h"

namespace ratoon::session {

enum class FolderUse { kAlone, kTogether };

using FolderLocks = std::vector<UnforkedFd>;

// kAlreadyExists where another process holds one of them and is known to live; kUnavailable where its machine
// may be gone, which this process waits for (held_lock.h); kTimeout where the run's own hangs with its disk.
[[nodiscard]] Result<FolderLocks> lock_folders(const Options& options, FolderUse use,
                                               checkpoint::PatientCalls& calls,
                                               const LockWaiting& waiting = {});

}  // namespace ratoon::session
