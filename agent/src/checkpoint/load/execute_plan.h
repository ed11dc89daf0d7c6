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

// kDirect reads bytes with O_DIRECT, which bypasses the page cache, unless the page cache already holds the
// bytes. Compared with reads through the page cache, direct reads take half the processor time and evict no
// other pages. Use direct reads for files that no other process reads soon.
enum class ReadMode { kDirect, kByPageCache };

struct ReadOptions {
  std::size_t threads = 0;    // 0: one per processor, at most eight, plus two that wait for the disk
  std::uint32_t readers = 1;  // ranks that read this checkpoint at the same time, this one included
  // A piece is verified and copied while it is in the processor's cache. Reads of 2 MiB keep the disk busy:
  // with reads of 512 KiB, a load took at least twice as long from the disk, and 1.2 times as long from the
  // page cache. Object stores charge for each read, so read whole extents (up to kExtentBytesMax bytes at
  // once) from them.
  std::uint64_t bytes_at_once = 2 * 1024 * 1024;

  [[nodiscard]] std::size_t thread_count() const;
};

// Returns kDirect if `bytes_wanted` times `readers` is at most 1.1 times `bytes_there`, the number of bytes
// in all packs. Hardly any byte is then read twice. Otherwise returns kByPageCache, so that other readers on
// this machine find bytes in the page cache.
[[nodiscard]] ReadMode choose_read_mode(std::uint64_t bytes_wanted, std::uint64_t bytes_there,
                                        std::uint32_t readers);

struct PlannedPack {
  std::string path;
  const PackHeader* header = nullptr;
};

// The plan refers to packs by their index in `packs`. `destinations` is the memory for the wanted tensors.
// Bytes are verified by their checksum before they are copied to their destination. If the checksum is wrong,
// the bytes are read a second time. After an error some destinations may be filled. Each thread opens the
// packs that it reads. All threads together keep at most 60 files open. If there are more than 60 threads,
// each thread keeps one file open.
[[nodiscard]] Result<void> execute_plan(const Disk& disk, std::span<const PlannedPack> packs,
                                        const ReadPlan& plan,
                                        std::span<const std::span<std::byte>> destinations, ReadMode way,
                                        const ReadOptions& options);

}  // namespace ratoon::checkpoint
