// The states that a power cut may leave of a ModelDisk: the persistence model, and the choice of states in
// it.
//
// After k operations the power fails. These parts are on the disk for certain: the bytes of each file as of
// its last sync, the names of each folder as of its last sync. Later changes may be on the disk in part:
//   bytes    none, all, a prefix of the writes, any of their 4 KiB blocks, the last torn at a multiple of
//   512; or
//            the new length is there and zeros where bytes were not written yet
//            what was waiting when a sync failed never comes
//   names    kOrdered: of each folder a prefix of what was done to it, as a journal leaves it
//            kAnyOrder: any part of it, as file systems without one may
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tests/support/crash/model_disk.h"

namespace ratoon::test {

enum class NameOrder { kOrdered, kAnyOrder };
enum class Fate { kNothing, kEverything, kNamesOnly, kBytesOnly, kChance };

struct CrashState {
  DiskImage image;
  std::vector<std::string> acknowledged;  // before the cut
};

// `ops` is the log up to the cut, on a disk that held `before`.
[[nodiscard]] CrashState crash(const DiskImage& before, std::span<const DiskOp> ops, Fate fate,
                               NameOrder order, std::mt19937_64& chance);

// Gives the same for equal images, for any numbers of files.
[[nodiscard]] std::uint64_t fingerprint(const DiskImage& image);

}  // namespace ratoon::test
