// DiskWithTimeout: a disk with a timeout for each call, for callers that must not hang with the disk. Written
// bytes are copied, because a call that hangs keeps using them: use this disk for small files. For packs the
// saver uses a WatchedDisk on a separate thread, not this disk (watched_disk.h).
#pragma once

#include <memory>

#include "agent/src/checkpoint/disk/calls_with_timeout.h"
#include "agent/src/checkpoint/disk/disk.h"

namespace ratoon::checkpoint {

// A call that hangs returns kTimeout with the name of the file. No further call is made on a file whose call
// hangs.
[[nodiscard]] std::shared_ptr<Disk> add_timeout(std::shared_ptr<Disk> disk,
                                                std::shared_ptr<CallsWithTimeout> calls);

// Adds a timeout to the calls of one file. `shown` is the file's name in messages.
[[nodiscard]] std::unique_ptr<WriteFile> add_timeout(std::unique_ptr<WriteFile> file,
                                                     std::shared_ptr<CallsWithTimeout> calls,
                                                     std::string shown);

}  // namespace ratoon::checkpoint
