// checkpoint/staging/: The memory to which tensors are copied before a thread writes them to the disk.
//
// Slab: the memory of one slot. A slab consists of one page for the slot's SlotInfo and the image of a pack
// file. The memory of a slab is either a file in a memory file system (tmpfs), which outlives the process, or
// the process's own memory.
//
// grow() allocates all pages of a slab. If the file system is full, grow() returns an error, so that no later
// copy ends the process with SIGBUS. Copies to a slab cause no page faults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include <ratoon/result.h>

#include "agent/src/checkpoint/staging/slot_info.h"
#include "base/core/fd_closed_on_fork.h"

namespace ratoon::checkpoint {

class Slab {
 public:
  // Creates a slab in the process's own memory, empty at first.
  Slab() = default;
  // Opens or creates a slab file of this user at `path`, and holds a lock on it until the slab is destroyed.
  // Returns kConflict if another process holds the lock of this file. `home` identifies the folder to which
  // packs are written (SaverOptions::location_hash). read_info() ignores a pack for another folder.
  [[nodiscard]] static Result<Slab> open(const std::filesystem::path& path, std::uint64_t home = 0);
  Slab(Slab&& other) noexcept;
  Slab& operator=(Slab&& other) noexcept;
  ~Slab();

  // Enlarges the slab if necessary, so that it holds an image of this size. If the slab must be enlarged, its
  // old contents are lost.
  [[nodiscard]] Result<void> grow(std::uint64_t image_bytes);

  [[nodiscard]] std::span<std::byte> image() const;  // the whole room
  // Returns the SlotInfo that an earlier process left, or nothing if there is no valid SlotInfo.
  [[nodiscard]] std::optional<SlotInfo> read_info() const;
  // Stores the SlotInfo at the beginning of a slab file. Does nothing if the slab is the process's own
  // memory, which no later process can read.
  void write_info(const SlotInfo& info);
  // Frees the memory of the slab and removes its file.
  void discard();

 private:
  [[nodiscard]] Result<void> map(std::uint64_t bytes);
  void unmap();

  std::filesystem::path path_;  // empty: own memory
  FdClosedOnFork fd_;
  std::uint64_t location_hash_ = 0;
  std::byte* memory_ = nullptr;
  std::uint64_t mapped_bytes_ = 0;  // mapped
};

}  // namespace ratoon::checkpoint
