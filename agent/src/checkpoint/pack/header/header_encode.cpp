#include <stdexcept>

#include "agent/src/checkpoint/pack/header/header.h"
#include "agent/src/checkpoint/pack/header/header_json.h"

namespace ratoon::checkpoint {

std::string encode_header(const PackLayout& layout, std::span<const std::uint32_t> block_crcs,
                          std::span<const Hash128> hashes) {
  if (block_crcs.size() != layout.block_count() || hashes.size() != layout.tensors.size())
    throw std::invalid_argument("a pack needs one checksum per block and one hash per tensor");
  const std::uint64_t json_bytes = layout.header_bytes - kHeaderLengthBytes;
  std::string header(kHeaderLengthBytes, '\0');
  for (std::size_t i = 0; i < kHeaderLengthBytes; ++i)
    header[i] = static_cast<char>((json_bytes >> (8 * i)) & 0xff);
  header += header_json(layout, block_crcs, hashes);
  if (header.size() > layout.header_bytes)
    throw std::invalid_argument("the layout of a pack is not as plan_pack made it");
  header.resize(layout.header_bytes, ' ');
  return header;
}

}  // namespace ratoon::checkpoint
