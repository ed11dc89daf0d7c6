// ReadBuffer: memory into which a disk can read directly (O_DIRECT). All copies of a ReadBuffer share its
// memory. A read that hangs holds a copy, so the memory stays valid for it after the timeout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "agent/src/checkpoint/disk/real/direct_writes.h"

namespace ratoon::checkpoint {

class ReadBuffer {
 public:
  // Returns uninitialized memory for `bytes` bytes, rounded up to whole pages.
  [[nodiscard]] static ReadBuffer of(std::uint64_t bytes) {
    const std::uint64_t size = (bytes + kDirectAlignment - 1) / kDirectAlignment * kDirectAlignment;
    auto owner = std::make_shared_for_overwrite<std::byte[]>(size + kDirectAlignment);
    const std::uint64_t misalignment = reinterpret_cast<std::uintptr_t>(owner.get()) % kDirectAlignment;
    return {std::move(owner), misalignment == 0 ? 0 : kDirectAlignment - misalignment, size};
  }
  ReadBuffer() = default;  // empty

  [[nodiscard]] std::span<std::byte> bytes() const { return {owner_.get() + begin_, size_}; }

 private:
  ReadBuffer(std::shared_ptr<std::byte[]> owner, std::uint64_t begin, std::uint64_t size)
      : owner_(std::move(owner)), begin_(begin), size_(size) {}

  std::shared_ptr<std::byte[]> owner_;
  std::uint64_t begin_ = 0;  // of the first whole page
  std::uint64_t size_ = 0;
};

}  // namespace ratoon::checkpoint
