// checkpoint/staging/: The memory to which saves are copied before they are written.
//
// Slab: the memory of one slot: a page for its SlotInfo, then the image of a pack. The memory is a file in a
// memory file system, which outlives the process, or the process's own memory.
//
// grow() allocates and touches all of the memory: a full file system is reported at once as an error, and not
// later as a signal, and copies cause no page faults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include <ratoon/result.h>

#include "agent/src/checkpoint/staging/slot_info.h"
#include "base/core/unforked_fd.h"

namespace ratoon::checkpoint {

class Slab {
 public:
  // Creates a slab in the process's own memory, empty at first.
  Slab() = default;
  // Opens or creates a file of this user at `path`, and locks it while the slab lives. Returns kConflict if
  // another process holds the lock. `home` is the mark of the folder to which images are written: an image
  // for another folder is ignored.
  [[nodiscard]] static Result<Slab> open(const std::filesystem::path& path, std::uint64_t home = 0);
  Slab(Slab&& other) noexcept;
  Slab& operator=(Slab&& other) noexcept;
  ~Slab();

  // Makes room for an image of this size. If the slab has to grow, its contents are lost.
  [[nodiscard]] Result<void> grow(std::uint64_t image_bytes);

  [[nodiscard]] std::span<std::byte> image() const;  // the whole room
  // Returns the SlotInfo that an earlier process left, or nothing if there is no valid SlotInfo.
  [[nodiscard]] std::optional<SlotInfo> read_info() const;
  // Writes nothing into the process's own memory, which no later process can read.
  void write_info(const SlotInfo& info);
  // Frees the memory and removes the file.
  void discard();

 private:
  [[nodiscard]] Result<void> map(std::uint64_t bytes);
  void unmap();

  std::filesystem::path path_;  // empty: own memory
  UnforkedFd fd_;
  std::uint64_t home_ = 0;
  std::byte* at_ = nullptr;
  std::uint64_t bytes_ = 0;  // mapped
};

}  // namespace ratoon::checkpoint
