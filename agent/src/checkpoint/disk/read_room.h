// ReadRoom: memory that a disk can put bytes into by itself, and that stays there as long
// as somebody has hold of it: a call that hangs may outlive its caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "agent/src/checkpoint/disk/direct_writes.h"

namespace ratoon::checkpoint {

class ReadRoom {
 public:
  // At least so many bytes, never zeroed; whole pages.
  [[nodiscard]] static ReadRoom of(std::uint64_t bytes) {
    const std::uint64_t size = (bytes + kDirectAlignment - 1) / kDirectAlignment * kDirectAlignment;
    auto owner = std::make_shared_for_overwrite<std::byte[]>(size + kDirectAlignment);
    const std::uint64_t past = reinterpret_cast<std::uintptr_t>(owner.get()) % kDirectAlignment;
    return {std::move(owner), past == 0 ? 0 : kDirectAlignment - past, size};
  }
  ReadRoom() = default;  // of no bytes

  [[nodiscard]] std::span<std::byte> bytes() const { return {owner_.get() + begin_, size_}; }

 private:
  ReadRoom(std::shared_ptr<std::byte[]> owner, std::uint64_t begin, std::uint64_t size)
      : owner_(std::move(owner)), begin_(begin), size_(size) {}

  std::shared_ptr<std::byte[]> owner_;
  std::uint64_t begin_ = 0;  // of the first whole page
  std::uint64_t size_ = 0;
};

}  // namespace ratoon::checkpoint
