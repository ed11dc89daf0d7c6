// Packs in memory, as a writer would leave them on a disk, and a reader that follows a plan.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "agent/src/checkpoint/pack/header/header.h"
#include "agent/src/checkpoint/pack/part_index.h"
#include "agent/src/checkpoint/pack/read_plan.h"
#include "base/core/crc32c.h"

namespace ratoon::test {

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

struct PackFile {
  std::string name;
  checkpoint::PackHeader header;
  std::string bytes;  // the whole file

  std::span<const std::byte> data() const { return bytes_of(bytes).subspan(header.layout.header_bytes); }
};

inline PackFile make_pack(std::string name, std::span<const TensorView> views) {
  std::vector<checkpoint::TensorSpec> specs;
  for (const auto& view : views) specs.push_back({view.name, view.type, view.shape, view.box});
  PackFile pack{.name = std::move(name), .header = {.layout = checkpoint::plan_pack(specs).value()}};
  std::string data;
  for (const std::size_t i : checkpoint::data_order(specs)) {
    data.append(reinterpret_cast<const char*>(views[i].bytes.data()), views[i].bytes.size());
    pack.header.hashes.push_back(xxh3_128(views[i].bytes));
  }
  for (std::size_t at = 0; at < data.size(); at += checkpoint::kPackBlockBytes)
    pack.header.block_crcs.push_back(crc32c(
        bytes_of(data).subspan(at, std::min<std::size_t>(checkpoint::kPackBlockBytes, data.size() - at))));
  pack.bytes =
      checkpoint::encode_header(pack.header.layout, pack.header.block_crcs, pack.header.hashes) + data;
  return pack;
}

// Reads as a reader does: from the bytes alone.
inline Result<checkpoint::PackHeader> read_header(const PackFile& pack) {
  return checkpoint::header_bytes_of(pack.bytes, pack.bytes.size()).and_then([&](std::uint64_t header_bytes) {
    return checkpoint::decode_header(std::string_view(pack.bytes).substr(0, header_bytes), pack.bytes.size());
  });
}

inline Result<checkpoint::PartIndex> index_of(std::span<const PackFile> packs) {
  std::vector<checkpoint::IndexedPack> indexed;
  for (const auto& pack : packs) indexed.push_back({pack.name, &pack.header.layout, pack.header.hashes});
  return checkpoint::PartIndex::build(std::move(indexed));
}

// Reads the extents of a plan from the last to the first, because the extents do not depend on each other.
inline Result<void> carry_out(const checkpoint::ReadPlan& plan, std::span<const PackFile> packs,
                              std::span<const std::span<std::byte>> destinations) {
  for (const auto& reads : plan.packs) {
    const PackFile& pack = packs[reads.pack];
    for (std::size_t i = reads.extents.size(); i-- > 0;) {
      const auto& extent = reads.extents[i];
      const auto bytes = pack.data().subspan(extent.begin, extent.end - extent.begin);
      if (auto verified = verify_extent(pack.header, extent, bytes); !verified) return verified;
      copy_extent(plan, reads, extent, bytes, destinations);
    }
  }
  return {};
}

}  // namespace ratoon::test
