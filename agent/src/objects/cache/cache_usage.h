// A usage record is the number of bytes in a cache's files, in the cache's lock file, so that the folder need
// not be listed. The record may be too high, because a file can vanish without being subtracted; a scan
// corrects it. The record is never too low, because it counts bytes before they are written. The record is
// valid during one boot of one machine: after a power cut the lock file may hold an old record.
//
// Thread contract: the caller holds the folder's lock; remove_usage_record() needs no lock.
#pragma once

#include <cstdint>
#include <optional>

namespace ratoon::objects {

// Returns the usage record, or nothing if it is not valid.
[[nodiscard]] std::optional<std::uint64_t> read_usage_record(int lock_fd);
// If the record cannot be written, write_usage_record() removes it.
void write_usage_record(int lock_fd, std::uint64_t held_bytes);
void remove_usage_record(int lock_fd);

}  // namespace ratoon::objects
