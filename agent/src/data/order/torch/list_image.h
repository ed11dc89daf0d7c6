// ListImage: the encoding of a list of numbers, which is the same in memory and in a file. An image consists
// of a header, a CRC32C of each block of numbers, and the numbers, which begin at a page boundary. All values
// are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <ratoon/result.h>

namespace ratoon::data {

// A key that identifies the contents of a list: lists with equal keys are equal.
struct ListKey {
  std::uint64_t size = 0;  // of the permutation
  std::uint32_t seed = 0;  // the part of a seed that MT19937 uses
  bool is_inside_out = false;

  friend auto operator<=>(const ListKey&, const ListKey&) = default;
};

// "randperm-60000-seed-17-v1"
[[nodiscard]] std::string name_of(const ListKey& key);

class ListImage {
 public:
  static constexpr std::size_t kBlockBytes = 64 * 1024;

  explicit ListImage(const ListKey& key);

  [[nodiscard]] std::size_t width() const { return width_; }  // bytes per number
  [[nodiscard]] std::size_t bytes() const { return numbers_at_ + numbers_bytes_; }
  [[nodiscard]] std::size_t blocks() const { return blocks_; }
  [[nodiscard]] std::size_t block_of(std::uint64_t place) const { return place * width_ / kBlockBytes; }

  // Returns the part of `image` that holds the numbers.
  template <class Byte>
  [[nodiscard]] std::span<Byte> numbers_in(std::span<Byte> image) const {
    return image.subspan(numbers_at_, numbers_bytes_);
  }

  // Writes the header and the checksums at the beginning of `image`, before the numbers.
  void seal(std::span<std::byte> image) const;

  // Checks that the image begins with the header for this list's key. Does not read the numbers of the list.
  [[nodiscard]] Result<void> check_header(std::span<const std::byte> image) const;
  // Checks that the numbers of a block match the checksum of the block.
  [[nodiscard]] Result<void> check_block(std::span<const std::byte> image, std::size_t block) const;

 private:
  [[nodiscard]] std::span<const std::byte> block_in(std::span<const std::byte> image,
                                                    std::size_t block) const;
  void write_header(std::span<std::byte> header, std::uint32_t crc_of_checksums) const;

  ListKey key_;
  std::size_t width_;
  std::size_t numbers_bytes_;
  std::size_t blocks_;
  std::size_t numbers_at_;
};

}  // namespace ratoon::data
