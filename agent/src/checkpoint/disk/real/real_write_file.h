// The files that RealDisk writes. In large files, bytes that are aligned both in memory and in the file are
// written past the page cache, if that pays off. Unaligned ends go through the cache, and so does everything
// after a first refusal.
#pragma once

#include <memory>
#include <string>

#include <unistd.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/disk/real/direct_writes.h"
#include "base/core/unique_fd.h"

namespace ratoon::checkpoint {

// The system call for writing. Tests replace it to refuse writes.
struct WriteCalls {
  decltype(&::pwrite) write = &::pwrite;
};

// `shown` is the file's name in messages.
[[nodiscard]] std::unique_ptr<WriteFile> make_write_file(UniqueFd fd, std::string shown,
                                                         std::shared_ptr<DirectWrites> direct,
                                                         const WriteCalls& calls = {});

}  // namespace ratoon::checkpoint
