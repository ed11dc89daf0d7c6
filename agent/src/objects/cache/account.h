// How many bytes the files of a cache hold, as a few bytes in its lock's file, so that nobody lists the
// folder to know it. The account may say too much, where a file went without being taken off, and is then put
// right by a look at the folder; it never says too little, since what is written is put on first. It is of
// one boot of one machine: after a power cut it may be an old one.
//
// Thread contract: whoever holds the folder's lock; forget() anybody.
#pragma once

#include <cstdint>
#include <optional>

namespace ratoon::objects {

// Nothing where it is not known.
[[nodiscard]] std::optional<std::uint64_t> read_account(int lock_fd);
// Where it cannot be written it is not known from then on.
void write_account(int lock_fd, std::uint64_t held_bytes);
void forget_account(int lock_fd);

}  // namespace ratoon::objects
