// The files that RealDisk writes. Of large ones whatever lies right in memory and in the file goes past the
// page cache, where that pays off; the ends go through it, and all of it after a first refusal.
#pragma once

#include <memory>
#include <string>

#include <unistd.h>

#include "agent/src/checkpoint/disk/direct_writes.h"
#include "agent/src/checkpoint/disk/disk.h"
#include "base/core/unique_fd.h"

namespace ratoon::checkpoint {

// What the system is asked; tests refuse in its place.
struct WriteCalls {
  decltype(&::pwrite) write = &::pwrite;
};

// `shown` is what messages call it.
[[nodiscard]] std::unique_ptr<WriteFile> make_write_file(UniqueFd fd, std::string shown,
                                                         std::shared_ptr<DirectWrites> direct,
                                                         const WriteCalls& calls = {});

}  // namespace ratoon::checkpoint
