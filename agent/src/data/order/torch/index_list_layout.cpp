#include "agent/src/data/order/torch/index_list_layout.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/core/crc32c.h"
#include "base/core/hex.h"

namespace ratoon::data {
namespace {

constexpr std::size_t kHeaderBytes = 64;
constexpr std::size_t kPageBytes = 4096;
constexpr std::array<char, 8> kMagic = {'r', 'a', 't', 'o', 'o', 'n', 'L', '1'};

struct Header {
  std::array<char, 8> magic = kMagic;
  std::uint64_t size = 0;
  std::uint32_t seed = 0;
  std::uint32_t uses_inside_out_shuffle = 0;
  std::uint32_t width = 0;
  std::uint32_t block_bytes = 0;
  std::uint32_t crc_of_checksums = 0;
  std::uint32_t crc = 0;  // of the fields before it

  friend bool operator==(const Header&, const Header&) = default;
};

std::uint32_t checksum_of(const Header& header) {
  return crc32c(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, crc)));
}

std::uint32_t stored_checksum(std::span<const std::byte> image, std::size_t block) {
  std::uint32_t value = 0;
  std::memcpy(&value, image.data() + kHeaderBytes + 4 * block, 4);
  return value;
}

template <class Number>
bool are_all_below(std::span<const std::byte> block, std::uint64_t size) {
  const std::span numbers(reinterpret_cast<const Number*>(block.data()), block.size() / sizeof(Number));
  return std::all_of(numbers.begin(), numbers.end(), [size](Number number) { return number < size; });
}

}  // namespace

std::string name_of(const IndexListKey& key) {
  return "randperm-" + std::to_string(key.size) + "-seed-" + std::to_string(key.seed) +
         (key.uses_inside_out_shuffle ? "-v2" : "-v1");
}

IndexListLayout::IndexListLayout(const IndexListKey& key)
    : key_(key),
      bytes_per_number_(key.size <= std::numeric_limits<std::uint32_t>::max() ? 4 : 8),
      numbers_bytes_(key.size * bytes_per_number_),
      block_count_((numbers_bytes_ + kBlockBytes - 1) / kBlockBytes),
      numbers_offset_((kHeaderBytes + 4 * block_count_ + kPageBytes - 1) / kPageBytes * kPageBytes) {}

std::span<const std::byte> IndexListLayout::block_in(std::span<const std::byte> image,
                                                     std::size_t block) const {
  const std::size_t start = block * kBlockBytes;
  return numbers_in(image).subspan(start, std::min(kBlockBytes, numbers_bytes_ - start));
}

void IndexListLayout::write_header(std::span<std::byte> header, std::uint32_t crc_of_checksums) const {
  Header h{.size = key_.size,
           .seed = key_.seed,
           .uses_inside_out_shuffle = key_.uses_inside_out_shuffle ? 1U : 0U,
           .width = static_cast<std::uint32_t>(bytes_per_number_),
           .block_bytes = kBlockBytes,
           .crc_of_checksums = crc_of_checksums};
  h.crc = checksum_of(h);
  std::memcpy(header.data(), &h, sizeof h);
}

void IndexListLayout::write_header_and_checksums(std::span<std::byte> image) const {
  for (std::size_t block = 0; block < block_count_; ++block) {
    const std::uint32_t checksum = crc32c(block_in(image, block));
    std::memcpy(image.data() + kHeaderBytes + 4 * block, &checksum, 4);
  }
  write_header(image, crc32c(image.subspan(kHeaderBytes, 4 * block_count_)));
}

Result<void> IndexListLayout::check_header(std::span<const std::byte> image) const {
  if (image.size() != bytes()) {
    return Error(ErrorKind::kCorrupted,
                 "expected " + std::to_string(bytes()) + " bytes and found " + std::to_string(image.size()));
  }
  std::array<std::byte, kHeaderBytes> expected{};
  write_header(expected, crc32c(image.subspan(kHeaderBytes, 4 * block_count_)));
  if (!std::equal(expected.begin(), expected.begin() + sizeof(Header), image.begin()))
    return Error(ErrorKind::kCorrupted, "the file has another header than that of " + name_of(key_));
  return {};
}

Result<void> IndexListLayout::check_block(std::span<const std::byte> image, std::size_t block) const {
  const auto numbers = block_in(image, block);
  const std::uint32_t found = crc32c(numbers);
  const std::uint32_t expected = stored_checksum(image, block);
  if (found != expected) {
    return Error(ErrorKind::kCorrupted, "block " + std::to_string(block) + " has the CRC32C " +
                                            to_hex(found) + ", expected " + to_hex(expected));
  }
  if (bytes_per_number_ == 4 ? !are_all_below<std::uint32_t>(numbers, key_.size)
                             : !are_all_below<std::uint64_t>(numbers, key_.size)) {
    return Error(ErrorKind::kCorrupted, "block " + std::to_string(block) +
                                            " has a number that is not below " + std::to_string(key_.size));
  }
  return {};
}

}  // namespace ratoon::data
