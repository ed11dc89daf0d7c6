// Carries out a read plan: copies from any number of packs into memory that the caller has allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/pack/header/header.h"
#include "agent/src/checkpoint/pack/read_plan.h"

namespace ratoon::checkpoint {

// kDirect bypasses the page cache for bytes that are not in it yet. Direct reads halve the processor time and
// do not evict other pages. Use direct reads for files that no other process reads soon.
enum class ReadMode { kDirect, kByPageCache };

struct ReadOptions {
  std::size_t threads = 0;    // 0: one per processor, at most eight, plus two that wait for the disk
  std::uint32_t readers = 1;  // ranks that read this checkpoint at the same time, this one included
  // A piece is verified and copied while it is in the processor's cache. Small reads let the disk idle: with
  // 512 KiB an uncached load took at least twice as long, a cached load 1.2 times as long. Stores charge for
  // each read, so read whole extents from stores: kExtentBytesMax.
  std::uint64_t bytes_at_once = 2 * 1024 * 1024;

  [[nodiscard]] std::size_t thread_count() const;
};

// Returns kDirect if all readers together want no more bytes than the packs hold, assuming that each reader
// wants as many bytes as this reader. With kDirect no byte is read twice, and the page cache need not keep a
// byte for another reader on this machine.
[[nodiscard]] ReadMode choose_read_mode(std::uint64_t bytes_wanted, std::uint64_t bytes_there,
                                        std::uint32_t readers);

struct PlannedPack {
  std::string path;
  const PackHeader* header = nullptr;
};

// The plan names `packs` by number; `destinations` are the bytes of the wanted tensors. Each byte is compared
// with its checksum before it is copied to its destination; after a mismatch it is read a second time. After
// an error some destinations may be filled. Each thread opens the packs for itself. All threads together have
// at most 60 files open, or one file each.
[[nodiscard]] Result<void> execute_plan(const Disk& disk, std::span<const PlannedPack> packs,
                                        const ReadPlan& plan,
                                        std::span<const std::span<std::byte>> destinations, ReadMode way,
                                        const ReadOptions& options);

}  // namespace ratoon::checkpoint
