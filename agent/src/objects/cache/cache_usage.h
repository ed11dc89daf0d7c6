// A usage record is the number of bytes of all files in a cache. The record is stored in the cache's lock
// file, so that a process need not list the folder. The recorded number may be too high, because a file may
// be removed without an update of the record. A scan of the folder corrects the recorded number. The number
// is never too low, because bytes are added to it before they are written. A record is valid only until the
// machine reboots, because after a power cut the lock file may contain an old record.
//
// Thread contract: the caller must hold the folder's lock, except for remove_usage_record().
#pragma once

#include <cstdint>
#include <optional>

namespace ratoon::objects {

// Returns the usage record, or nothing if it is not valid.
[[nodiscard]] std::optional<std::uint64_t> read_usage_record(int lock_fd);
// If the record cannot be written, write_usage_record() removes it.
void write_usage_record(int lock_fd, std::uint64_t used_bytes);
void remove_usage_record(int lock_fd);

}  // namespace ratoon::objects
