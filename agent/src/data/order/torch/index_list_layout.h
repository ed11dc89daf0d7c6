// IndexListLayout: the encoding of a list of numbers, which is the same in memory and in a file. An encoded
// list is called an image. It consists of a header, a CRC32C of each block of numbers, and the numbers, which
// begin at a page boundary. All values are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <ratoon/result.h>

namespace ratoon::data {

// A key that identifies the contents of a list: lists with equal keys are equal.
struct IndexListKey {
  std::uint64_t size = 0;  // of the permutation
  std::uint32_t seed = 0;  // the part of a seed that MT19937 uses
  bool uses_inside_out_shuffle = false;

  friend auto operator<=>(const IndexListKey&, const IndexListKey&) = default;
};

// "randperm-60000-seed-17-v1"
[[nodiscard]] std::string name_of(const IndexListKey& key);

class IndexListLayout {
 public:
  static constexpr std::size_t kBlockBytes = 64 * 1024;

  explicit IndexListLayout(const IndexListKey& key);

  [[nodiscard]] std::size_t bytes_per_number() const { return bytes_per_number_; }  // bytes per number
  [[nodiscard]] std::size_t bytes() const { return numbers_offset_ + numbers_bytes_; }
  [[nodiscard]] std::size_t block_count() const { return block_count_; }
  [[nodiscard]] std::size_t block_of(std::uint64_t place) const {
    return place * bytes_per_number_ / kBlockBytes;
  }

  // Returns the part of `image` that holds the numbers.
  template <class Byte>
  [[nodiscard]] std::span<Byte> numbers_in(std::span<Byte> image) const {
    return image.subspan(numbers_offset_, numbers_bytes_);
  }

  // Writes the header and the checksums at the beginning of `image`, before the numbers.
  void write_header_and_checksums(std::span<std::byte> image) const;

  // Checks that the image begins with the header for this list's key, and reads no numbers of the list.
  [[nodiscard]] Result<void> check_header(std::span<const std::byte> image) const;
  // Checks that the numbers of a block match the checksum of the block.
  [[nodiscard]] Result<void> check_block(std::span<const std::byte> image, std::size_t block) const;

 private:
  [[nodiscard]] std::span<const std::byte> block_in(std::span<const std::byte> image,
                                                    std::size_t block) const;
  void write_header(std::span<std::byte> header, std::uint32_t crc_of_checksums) const;

  IndexListKey key_;
  std::size_t bytes_per_number_;
  std::size_t numbers_bytes_;
  std::size_t block_count_;
  std::size_t numbers_offset_;
};

}  // namespace ratoon::data
