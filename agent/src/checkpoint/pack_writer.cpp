#include "agent/src/checkpoint/pack_writer.h"

#include <algorithm>
#include <vector>

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/checkpoint/pack/header.h"
#include "agent/src/checkpoint/pack/layout.h"
#include "base/core/crc32c.h"

namespace ratoon::checkpoint {
namespace {

using Bytes = std::span<const std::byte>;

// Smaller writes are gathered: a state of a thousand small tensors is not a thousand calls.
constexpr std::size_t kGatherBytes = 4 << 20;

// CRC32C of each block of a row of bytes that comes in pieces.
class BlockSums {
 public:
  void add(Bytes bytes) {
    while (!bytes.empty()) {
      const std::size_t room = kPackBlockBytes - in_block_;
      const Bytes piece = bytes.first(std::min(room, bytes.size()));
      if (in_block_ == 0) sums_.push_back(0);
      sums_.back() = crc32c(piece, sums_.back());
      in_block_ = (in_block_ + piece.size()) % kPackBlockBytes;
      bytes = bytes.subspan(piece.size());
    }
  }
  [[nodiscard]] const std::vector<std::uint32_t>& sums() const { return sums_; }

 private:
  std::vector<std::uint32_t> sums_;
  std::size_t in_block_ = 0;
};

// Bytes one after the other into a file, few writes for many pieces.
class Appender {
 public:
  Appender(WriteFile& file, std::uint64_t at) : file_(file), at_(at) {}

  Result<void> append(Bytes bytes) {
    if (gathered_.size() + bytes.size() <= kGatherBytes) {
      gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
      return {};
    }
    if (auto flushed = flush(); !flushed) return flushed;
    if (bytes.size() < kGatherBytes) {
      gathered_.assign(bytes.begin(), bytes.end());
      return {};
    }
    auto written = file_.write(at_, bytes);
    at_ += bytes.size();
    return written;
  }
  Result<void> flush() {
    if (gathered_.empty()) return {};
    auto written = file_.write(at_, gathered_);
    at_ += gathered_.size();
    gathered_.clear();
    return written;
  }

 private:
  WriteFile& file_;
  std::uint64_t at_;
  std::vector<std::byte> gathered_;
};

std::vector<TensorSpec> specs_of(std::span<const TensorView> tensors) {
  std::vector<TensorSpec> specs;
  specs.reserve(tensors.size());
  for (const TensorView& tensor : tensors)
    specs.push_back({.name = tensor.name, .type = tensor.type, .shape = tensor.shape, .box = tensor.box});
  return specs;
}

Result<std::string> write_data(WriteFile& file, const PackLayout& layout, std::span<const TensorView> tensors,
                               std::span<const std::size_t> order) {
  BlockSums sums;
  std::vector<Hash128> hashes;
  hashes.reserve(order.size());
  Appender data(file, layout.header_bytes);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const TensorView& tensor = tensors[order[i]];
    const PackedTensor& place = layout.tensors[i];
    if (tensor.bytes.size() != place.end - place.begin) {
      return Error(ErrorKind::kInvalid, "tensor " + in_quotes(tensor.name) + " has " +
                                            std::to_string(tensor.bytes.size()) + " bytes, and " +
                                            std::to_string(place.end - place.begin) +
                                            " follow from its type and shape");
    }
    sums.add(tensor.bytes);
    hashes.push_back(xxh3_128(tensor.bytes));
    if (auto appended = data.append(tensor.bytes); !appended) return appended.error();
  }
  if (auto flushed = data.flush(); !flushed) return flushed.error();
  return encode_header(layout, sums.sums(), hashes);
}

Result<PackRecord> write_temporary(Disk& disk, const std::string& temporary, Rank rank,
                                   std::span<const TensorView> tensors) {
  const std::vector<TensorSpec> specs = specs_of(tensors);
  const auto layout = plan_pack(specs);
  if (!layout) return layout.error();
  auto file = disk.create(temporary);
  if (!file) return file.error();
  if (auto reserved = (*file)->reserve(layout->file_bytes()); !reserved) return reserved.error();
  const auto header = write_data(**file, *layout, tensors, data_order(specs));
  if (!header) return header.error();
  const Bytes header_bytes = std::as_bytes(std::span(*header));
  if (auto written = (*file)->write(0, header_bytes); !written) return written.error();
  if (auto synced = (*file)->sync(); !synced) return synced.error();
  if (auto closed = (*file)->close(); !closed) return closed.error();
  return PackRecord{.rank = rank,
                    .size_bytes = layout->file_bytes(),
                    .header_bytes = layout->header_bytes,
                    .header_digest = to_hex(xxh3_128(header_bytes))};
}

}  // namespace

Result<PackRecord> write_pack_file(Disk& disk, const std::string& path, Rank rank,
                                   std::span<const TensorView> tensors, std::string_view mark) {
  const std::string temporary = temporary_path(path, mark);
  auto record = write_temporary(disk, temporary, rank, tensors);
  if (record) {
    if (auto published = publish(disk, temporary, path, IfThere::kRefuse); !published)
      record = published.error();
  }
  if (!record) static_cast<void>(disk.remove(temporary));
  return record;
}

}  // namespace ratoon::checkpoint
