#include "agent/src/checkpoint/saver/pack_writer.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/checkpoint/pack/header/header.h"
#include "agent/src/checkpoint/pack/header/layout.h"
#include "agent/src/checkpoint/pack/header/pack_checksums.h"
#include "agent/src/checkpoint/saver/background_checksums.h"

namespace ratoon::checkpoint {
namespace {

using Bytes = std::span<const std::byte>;

// Pieces below kGatheredBytesMax are gathered into one write, so that a thousand small tensors do not need a
// thousand system calls.
constexpr std::size_t kGatheredBytesMax = 4 << 20;
// The maximum number of bytes that one call writes. Larger writes keep the disk busier, but each write must
// end within SaverOptions::disk_timeout.
constexpr std::size_t kImagePieceBytes = 32 << 20;

// Appends pieces to a file, and gathers small pieces so that the file is written in few calls. If the file's
// lends_without_copy() is true, passes pieces to the file without copying them.
class PackDataAppender {
 public:
  PackDataAppender(WriteFile& file, std::uint64_t at) : file_(file), at_(at) {}

  Result<void> append(Bytes bytes) {
    if (file_.lends_without_copy()) return write_borrowed(bytes);
    if (gathered_.size() + bytes.size() <= kGatheredBytesMax) {
      gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
      return {};
    }
    if (auto flushed = flush(); !flushed) return flushed;
    if (bytes.size() < kGatheredBytesMax) {
      gathered_.assign(bytes.begin(), bytes.end());
      return {};
    }
    return write_borrowed(bytes);
  }
  Result<void> flush() {
    if (gathered_.empty()) return {};
    auto written = file_.write(at_, gathered_);
    at_ += gathered_.size();
    gathered_.clear();
    return written;
  }

 private:
  Result<void> write_borrowed(Bytes bytes) {
    auto lent = file_.write_borrowed(at_, bytes);
    at_ += bytes.size();
    return lent;
  }

  WriteFile& file_;
  std::uint64_t at_;
  std::vector<std::byte> gathered_;
};

std::vector<TensorSpec> tensor_specs_of(std::span<const TensorView> tensors) {
  std::vector<TensorSpec> specs;
  specs.reserve(tensors.size());
  for (const TensorView& tensor : tensors)
    specs.push_back({.name = tensor.name, .type = tensor.type, .shape = tensor.shape, .box = tensor.box});
  return specs;
}

Result<void> check_tensor_bytes(const TensorView& tensor, const PackedTensor& place) {
  if (tensor.bytes.size() == place.end - place.begin) return {};
  return Error(ErrorKind::kInvalid, "tensor " + in_quotes(tensor.name) + " has " +
                                        std::to_string(tensor.bytes.size()) + " bytes, and " +
                                        std::to_string(place.end - place.begin) +
                                        " are expected from its type and shape");
}

// Another thread computes the checksums while this thread waits for the disk.
Result<void> write_tensors(WriteFile& file, const PackLayout& layout, std::span<const TensorView> tensors,
                           std::span<const std::size_t> order, PackChecksums& sums) {
  std::vector<Bytes> parts;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const TensorView& tensor = tensors[order[i]];
    if (auto checked = check_tensor_bytes(tensor, layout.tensors[i]); !checked) return checked;
    parts.push_back(tensor.bytes);
  }
  BackgroundChecksums beside(sums, parts);
  PackDataAppender data(file, layout.header_bytes);
  for (const Bytes part : parts) {
    if (auto appended = data.append(part); !appended) return appended;
  }
  if (auto flushed = data.flush(); !flushed) return flushed;
  beside.finish();
  return {};
}

Error copy_cancelled_error() {
  return {ErrorKind::kCancelled, "the copy of the tensors was cancelled before it was complete"};
}

// The header with the checksums is written last, so that no file is a valid pack before the copy is complete.
Result<void> write_image(WriteFile& file, const PackLayout& layout, Bytes image, PackChecksums& sums,
                         const CopyProgress& filling) {
  const std::uint64_t begin = layout.header_bytes;
  BackgroundChecksums beside(sums, image.subspan(begin),
                             [&](std::uint64_t bytes) { return filling.wait_for(begin + bytes); });
  for (std::uint64_t at = begin; at < image.size(); at += kImagePieceBytes) {
    const Bytes piece = image.subspan(at, std::min<std::uint64_t>(kImagePieceBytes, image.size() - at));
    if (!filling.wait_for(at + piece.size())) return copy_cancelled_error();
    if (auto lent = file.write_borrowed(at, piece); !lent) return lent;
  }
  if (!filling.wait_until_complete()) return copy_cancelled_error();
  beside.finish();
  return {};
}

using PackDataWriter = std::function<Result<void>(WriteFile& file, PackChecksums& sums)>;

Result<WrittenPack> write_temporary(Disk& disk, const std::string& temporary, Rank rank,
                                    const PackLayout& layout, const PackDataWriter& write_pack_data) {
  auto file = create_temporary(disk, temporary);
  if (!file) return file.error();
  if (auto reserved = (*file)->reserve(layout.file_bytes()); !reserved) return reserved.error();
  PackChecksums sums(layout);
  if (auto written = write_pack_data(**file, sums); !written) return written.error();
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
                                      const PackDataWriter& write_pack_data) {
  const std::string temporary = temporary_path(path, mark);
  auto written = write_temporary(disk, temporary, rank, layout, write_pack_data);
  if (written) {
    if (auto published = rename_durably(disk, temporary, path); !published) written = published.error();
  }
  if (!written) static_cast<void>(disk.remove(temporary));
  return written;
}

}  // namespace

Result<PackRecord> write_pack_file(Disk& disk, const std::string& path, Rank rank,
                                   std::span<const TensorView> tensors, std::string_view mark,
                                   std::string_view owner) {
  const std::vector<TensorSpec> specs = tensor_specs_of(tensors);
  const auto layout = plan_pack(specs, owner);
  if (!layout) return layout.error();
  const std::vector<std::size_t> order = data_order(specs);
  const auto written =
      write_and_publish(disk, path, rank, *layout, mark, [&](WriteFile& file, PackChecksums& sums) {
        return write_tensors(file, *layout, tensors, order, sums);
      });
  if (!written) return written.error();
  return written->record;
}

Result<WrittenPack> write_pack_named_by_content(Disk& disk,
                                                const std::function<std::string(const PackRecord&)>& path_of,
                                                const TensorView& tensor, std::string_view mark,
                                                std::string_view owner) {
  const std::vector<TensorSpec> specs = tensor_specs_of(std::span(&tensor, 1));
  const auto layout = plan_pack(specs, owner);
  if (!layout) return layout.error();
  const std::string temporary =
      temporary_path(path_of({.header_digest = to_hex(xxh3_128(tensor.bytes))}), mark);
  auto written =
      write_temporary(disk, temporary, Rank(0), *layout, [&](WriteFile& file, PackChecksums& sums) {
        return write_tensors(file, *layout, std::span(&tensor, 1), data_order(specs), sums);
      });
  if (written) {
    const auto renamed = disk.rename_no_replace(temporary, path_of(written->record));
    if (renamed) return written;
    if (renamed.error().kind() != ErrorKind::kAlreadyExists) written = renamed.error();
  }
  static_cast<void>(disk.remove(temporary));
  return written;
}

Result<PackImageLayout> lay_out_image(std::span<const TensorView> tensors, std::string_view owner) {
  const std::vector<TensorSpec> specs = tensor_specs_of(tensors);
  auto layout = plan_pack(specs, owner);
  if (!layout) return layout.error();
  PackImageLayout image{.layout = *std::move(layout), .order = data_order(specs)};
  for (std::size_t i = 0; i < image.order.size(); ++i) {
    if (auto checked = check_tensor_bytes(tensors[image.order[i]], image.layout.tensors[i]); !checked)
      return checked.error();
  }
  return image;
}

Result<WrittenPack> write_pack_image(Disk& disk, const std::string& path, Rank rank, const PackLayout& layout,
                                     std::span<const std::byte> image, std::string_view mark,
                                     const CopyProgress& filling) {
  return write_and_publish(disk, path, rank, layout, mark, [&](WriteFile& file, PackChecksums& sums) {
    return write_image(file, layout, image, sums, filling);
  });
}

}  // namespace ratoon::checkpoint
