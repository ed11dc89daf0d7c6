#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include <ratoon/sample.h>

namespace ratoon {
namespace {

constexpr std::size_t kBlockBytes = 4096;
constexpr std::size_t kAlignment = 16;  // of every array, so that any element type can be read in place

}  // namespace

std::size_t bytes_of(ElementType type, std::span<const std::uint64_t> shape) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  std::uint64_t bytes = size_of(type);
  for (const std::uint64_t dimension : shape) {
    if (dimension != 0 && bytes > kMax / dimension) throw std::overflow_error("an array of over 2^63 bytes");
    bytes *= dimension;
  }
  return bytes;
}

void Sample::begin(std::uint64_t id) {
  id_ = id;
  fields_.clear();
  owners_.clear();
  if (blocks_.size() > 1) merge_blocks();
  if (!blocks_.empty()) blocks_.front().used = 0;
}

// Replaces all memory blocks by one block as large as their used part, because the next sample will need
// about as much memory. The memory of a Sample therefore never exceeds the memory that its largest sample
// needs.
void Sample::merge_blocks() {
  std::size_t used = 0;
  for (const Block& block : blocks_) used += block.used;
  blocks_.clear();
  blocks_.push_back({std::make_unique_for_overwrite<std::byte[]>(used), used, 0});
}

void Sample::keep_alive(std::shared_ptr<const void> owner) {
  owners_.push_back(std::move(owner));
}

std::span<std::byte> Sample::allocate(std::size_t size) {
  const std::size_t rounded = (size + kAlignment - 1) / kAlignment * kAlignment;
  if (blocks_.empty() || blocks_.back().size - blocks_.back().used < rounded) {
    const std::size_t block_size = std::max(rounded, kBlockBytes);
    blocks_.push_back({std::make_unique_for_overwrite<std::byte[]>(block_size), block_size, 0});
  }
  Block& block = blocks_.back();
  std::byte* const begin = block.bytes.get() + block.used;
  block.used += rounded;
  return {begin, size};
}

Field Sample::own(ElementType type, std::span<const std::uint64_t> shape, std::span<std::byte>& bytes) {
  const std::span<const std::uint64_t> own_shape = copy(shape);
  bytes = allocate(bytes_of(type, shape));
  return {.type = type, .shape = own_shape, .bytes = bytes};
}

std::span<const std::uint64_t> Sample::copy(std::span<const std::uint64_t> shape) {
  const std::span<std::byte> place = allocate(shape.size_bytes());
  if (!shape.empty()) std::memcpy(place.data(), shape.data(), shape.size_bytes());
  return {reinterpret_cast<const std::uint64_t*>(place.data()), shape.size()};
}

void Sample::add(ElementType type, std::span<const std::uint64_t> shape, std::span<const std::byte> bytes) {
  fields_.push_back({.type = type, .shape = copy(shape), .bytes = bytes});
}

std::span<std::byte> Sample::add(ElementType type, std::span<const std::uint64_t> shape) {
  std::span<std::byte> bytes;
  fields_.push_back(own(type, shape, bytes));
  return bytes;
}

std::span<std::byte> Sample::replace(std::size_t column, ElementType type,
                                     std::span<const std::uint64_t> shape) {
  std::span<std::byte> bytes;
  fields_.at(column) = own(type, shape, bytes);
  return bytes;
}

}  // namespace ratoon
