// Slab: the memory of one slot, a page for its SlotInfo and then the image of a pack. Either a file in a
// memory file system, which outlives the process, or the process's own memory.
//
// All of it is asked for and touched when it grows: a full file system is an error then, not a signal later,
// and copying into it costs no page faults.
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
  // The process's own memory; nothing of it yet.
  Slab() = default;
  // A file of this user's at `path`, made where it is missing, held by this process alone as long as the slab
  // lives. kConflict: another process holds it.
  // `home` marks the folder that its images are for: what was left for another one counts as nothing.
  [[nodiscard]] static Result<Slab> open(const std::filesystem::path& path, std::uint64_t home = 0);
  Slab(Slab&& other) noexcept;
  Slab& operator=(Slab&& other) noexcept;
  ~Slab();

  // Makes room for an image of so many bytes. What was in it is gone where it has to grow.
  [[nodiscard]] Result<void> grow(std::uint64_t image_bytes);

  [[nodiscard]] std::span<std::byte> image() const;  // all the room there is
  // What an earlier process left here.
  [[nodiscard]] std::optional<SlotInfo> read_info() const;
  // Nothing where nobody can come back to it.
  void write_info(const SlotInfo& info);
  // Gives memory and file back.
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
