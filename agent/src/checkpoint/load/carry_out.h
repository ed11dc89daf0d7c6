// Carries out a read plan: from any number of packs into memory that is there already.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/pack/header.h"
#include "agent/src/checkpoint/pack/read_plan.h"

namespace ratoon::checkpoint {

// Of files that nobody else reads soon, what has to come from the disk is read past the page cache; it costs
// half of the processor's time, and what was in the cache stays there.
enum class ReadWay { kDirect, kByPageCache };

struct ReadOptions {
  std::size_t threads = 0;    // 0: one a processor, up to eight, and some that wait for the disk
  std::uint32_t readers = 1;  // ranks that read this checkpoint at the same time, this one included
  // A piece is checked and copied while it is in the processor's cache, but a disk that is asked for little
  // at a time waits more than it reads: with 512 KiB a cold load took twice as long or more, a warm one 1.2
  // times.
  // Stores, where each read has its price, want extents whole: kExtentBytesMax.
  std::uint64_t bytes_at_once = 2 * 1024 * 1024;

  [[nodiscard]] std::size_t thread_count() const;
};

// What all readers want together, if they want as much as this one, beside what there is: where it is not
// more, no byte is wanted twice, and the system need not keep it for somebody else on this machine.
[[nodiscard]] ReadWay choose_way(std::uint64_t bytes_wanted, std::uint64_t bytes_there,
                                 std::uint32_t readers);

struct PlannedPack {
  std::string path;
  const PackHeader* header = nullptr;
};

// `packs` are those that the plan names by number, `destinations` the wanted tensors' bytes. No byte is put
// there that was not compared with its sum; what does not fit is read twice. After an error some of the
// destinations are filled. Each thread opens the packs for itself; all of them together have at most 60 open,
// or one each.
[[nodiscard]] Result<void> carry_out(const Disk& disk, std::span<const PlannedPack> packs,
                                     const ReadPlan& plan, std::span<const std::span<std::byte>> destinations,
                                     ReadWay way, const ReadOptions& options);

}  // namespace ratoon::checkpoint
