// DiskWithTimeout: a disk with a timeout for each call, for callers that must go on when the disk hangs. Use
// DiskWithTimeout for small files: it copies all bytes that are written, because a write that hangs still
// reads them after the timeout. The saver writes packs (files of tensors) not through DiskWithTimeout but
// through a WatchedDisk on a separate thread (watched_disk.h).
#pragma once

#include <memory>

#include "agent/src/checkpoint/disk/calls_with_timeout.h"
#include "agent/src/checkpoint/disk/disk.h"

namespace ratoon::checkpoint {

// A call that hangs returns kTimeout with the name of the file. While a call on a file hangs, further calls
// on this file are refused.
[[nodiscard]] std::shared_ptr<Disk> add_timeout(std::shared_ptr<Disk> disk,
                                                std::shared_ptr<CallsWithTimeout> calls);

// Adds a timeout to the calls of one file. `shown` is the file's name for error messages.
[[nodiscard]] std::unique_ptr<WriteFile> add_timeout(std::unique_ptr<WriteFile> file,
                                                     std::shared_ptr<CallsWithTimeout> calls,
                                                     std::string shown);

}  // namespace ratoon::checkpoint
