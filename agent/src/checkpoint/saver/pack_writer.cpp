#include "agent/src/checkpoint/saver/pack_writer.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/checkpoint/pack/header/header.h"
#include "agent/src/checkpoint/pack/header/layout.h"
#include "agent/src/checkpoint/pack/header/pack_sums.h"
#include "agent/src/checkpoint/saver/background_sums.h"

namespace ratoon::checkpoint {
namespace {

using Bytes = std::span<const std::byte>;

// Smaller pieces are gathered into one write, so that a thousand small tensors do not need a thousand system
// calls.
constexpr std::size_t kGatherBytes = 4 << 20;
// The maximum number of bytes that one call writes. Larger writes keep the disk busier, but each write must
// end within SaverOptions::patience.
constexpr std::size_t kImagePieceBytes = 32 << 20;

// Appends pieces to a file. Appends pieces to a file, and gathers small pieces so that the file is written in
// few calls. If the file's lends_without_copy() is true, passes pieces to the file without copying them.
class Appender {
 public:
  Appender(WriteFile& file, std::uint64_t at) : file_(file), at_(at) {}

  Result<void> append(Bytes bytes) {
    if (file_.lends_without_copy()) return lend(bytes);
    if (gathered_.size() + bytes.size() <= kGatherBytes) {
      gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
      return {};
    }
    if (auto flushed = flush(); !flushed) return flushed;
    if (bytes.size() < kGatherBytes) {
      gathered_.assign(bytes.begin(), bytes.end());
      return {};
    }
    return lend(bytes);
  }
  Result<void> flush() {
    if (gathered_.empty()) return {};
    auto written = file_.write(at_, gathered_);
    at_ += gathered_.size();
    gathered_.clear();
    return written;
  }

 private:
  Result<void> lend(Bytes bytes) {
    auto lent = file_.lend(at_, bytes);
    at_ += bytes.size();
    return lent;
  }

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

Result<void> check_length(const TensorView& tensor, const PackedTensor& place) {
  if (tensor.bytes.size() == place.end - place.begin) return {};
  return Error(ErrorKind::kInvalid, "tensor " + in_quotes(tensor.name) + " has " +
                                        std::to_string(tensor.bytes.size()) + " bytes, and " +
                                        std::to_string(place.end - place.begin) +
                                        " follow from its type and shape");
}

// Another thread computes the checksums while this thread waits for the disk.
Result<void> write_tensors(WriteFile& file, const PackLayout& layout, std::span<const TensorView> tensors,
                           std::span<const std::size_t> order, PackSums& sums) {
  std::vector<Bytes> parts;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const TensorView& tensor = tensors[order[i]];
    if (auto checked = check_length(tensor, layout.tensors[i]); !checked) return checked;
    parts.push_back(tensor.bytes);
  }
  BackgroundSums beside(sums, parts);
  Appender data(file, layout.header_bytes);
  for (const Bytes part : parts) {
    if (auto appended = data.append(part); !appended) return appended;
  }
  if (auto flushed = data.flush(); !flushed) return flushed;
  beside.finish();
  return {};
}

Error cancelled() {
  return {ErrorKind::kCancelled, "the copy of the tensors was cancelled before it was complete"};
}

// The header with the checksums is written last, so that no file is a valid pack before the copy is complete.
Result<void> write_image(WriteFile& file, const PackLayout& layout, Bytes image, PackSums& sums,
                         const CopyProgress& filling) {
  const std::uint64_t begin = layout.header_bytes;
  BackgroundSums beside(sums, image.subspan(begin),
                        [&](std::uint64_t bytes) { return filling.wait_for(begin + bytes); });
  for (std::uint64_t at = begin; at < image.size(); at += kImagePieceBytes) {
    const Bytes piece = image.subspan(at, std::min<std::uint64_t>(kImagePieceBytes, image.size() - at));
    if (!filling.wait_for(at + piece.size())) return cancelled();
    if (auto lent = file.lend(at, piece); !lent) return lent;
  }
  if (!filling.wait_until_complete()) return cancelled();
  beside.finish();
  return {};
}

using WriteData = std::function<Result<void>(WriteFile& file, PackSums& sums)>;

Result<WrittenPack> write_temporary(Disk& disk, const std::string& temporary, Rank rank,
                                    const PackLayout& layout, const WriteData& write_data) {
  auto file = create_temporary(disk, temporary);
  if (!file) return file.error();
  if (auto reserved = (*file)->reserve(layout.file_bytes()); !reserved) return reserved.error();
  PackSums sums(layout);
  if (auto written = write_data(**file, sums); !written) return written.error();
  std::string header = encode_header(layout, sums.block_crcs(), sums.hashes());
  const Bytes header_bytes = std::as_bytes(std::span(header));
  if (auto written = (*file)->write(0, header_bytes); !written) return written.error();
  if (auto synced = (*file)->sync(); !synced) return synced.error();
  if (auto closed = (*file)->close(); !closed) return closed.error();
  return WrittenPack{.record = {.rank = rank,
                                .size_bytes = layout.file_bytes(),
                                .header_bytes = layout.header_bytes,
                                .header_digest = to_hex(xxh3_128(header_bytes)),
                                .owner = layout.owner},
                     .hashes = sums.hashes()};
}

Result<WrittenPack> write_and_publish(Disk& disk, const std::string& path, Rank rank,
                                      const PackLayout& layout, std::string_view mark,
                                      const WriteData& write_data) {
  const std::string temporary = temporary_path(path, mark);
  auto written = write_temporary(disk, temporary, rank, layout, write_data);
  if (written) {
    if (auto published = publish(disk, temporary, path); !published) written = published.error();
  }
  if (!written) static_cast<void>(disk.remove(temporary));
  return written;
}

}  // namespace

Result<PackRecord> write_pack_file(Disk& disk, const std::string& path, Rank rank,
                                   std::span<const TensorView> tensors, std::string_view mark,
                                   std::string_view owner) {
  const std::vector<TensorSpec> specs = specs_of(tensors);
  const auto layout = plan_pack(specs, owner);
  if (!layout) return layout.error();
  const std::vector<std::size_t> order = data_order(specs);
  const auto written = write_and_publish(
      disk, path, rank, *layout, mark,
      [&](WriteFile& file, PackSums& sums) { return write_tensors(file, *layout, tensors, order, sums); });
  if (!written) return written.error();
  return written->record;
}

Result<PackImage> lay_out_image(std::span<const TensorView> tensors, std::string_view owner) {
  const std::vector<TensorSpec> specs = specs_of(tensors);
  auto layout = plan_pack(specs, owner);
  if (!layout) return layout.error();
  PackImage image{.layout = *std::move(layout), .order = data_order(specs)};
  for (std::size_t i = 0; i < image.order.size(); ++i) {
    if (auto checked = check_length(tensors[image.order[i]], image.layout.tensors[i]); !checked)
      return checked.error();
  }
  return image;
}

Result<WrittenPack> write_pack_image(Disk& disk, const std::string& path, Rank rank, const PackLayout& layout,
                                     std::span<const std::byte> image, std::string_view mark,
                                     const CopyProgress& filling) {
  return write_and_publish(disk, path, rank, layout, mark, [&](WriteFile& file, PackSums& sums) {
    return write_image(file, layout, image, sums, filling);
  });
}

}  // namespace ratoon::checkpoint
