// Creates the files that RealDisk writes. In large files, bytes that are aligned both in memory and in the
// file bypass the page cache (O_DIRECT), if direct writes are not slower. Unaligned ends of the data go
// through the page cache. After the system has refused a direct write, all data goes through the page cache.
#pragma once

#include <memory>
#include <string>

#include <unistd.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/disk/real/direct_writes.h"
#include "base/core/unique_fd.h"

namespace ratoon::checkpoint {

// The system call with which the file is written. Tests replace the system call by a function that refuses
// writes, as a system without direct writes does.
struct WriteSyscalls {
  decltype(&::pwrite) write = &::pwrite;
};

// `shown` is the file's name for error messages.
[[nodiscard]] std::unique_ptr<WriteFile> make_write_file(UniqueFd fd, std::string shown,
                                                         std::shared_ptr<DirectWrites> direct,
                                                         const WriteSyscalls& calls = {});

}  // namespace ratoon::checkpoint
