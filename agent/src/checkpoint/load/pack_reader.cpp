#include "agent/src/checkpoint/load/pack_reader.h"

#include <algorithm>
#include <vector>

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/checkpoint/pack/header/safetensors_types.h"
#include "agent/src/checkpoint/parts/part_files.h"
#include "base/core/crc32c.h"

namespace ratoon::checkpoint {
namespace {

constexpr std::size_t kBlocksAtOnce = 64;

Result<PackHeader> read_header(const ReadFile& file, const std::string& shown, const PackRecord& record) {
  const auto size = file.size();
  if (!size) return size.error();
  if (*size != record.size_bytes) {
    return Error(ErrorKind::kCorrupted, shown + " has " + std::to_string(*size) + " bytes, and " +
                                            std::to_string(record.size_bytes) + " were committed");
  }
  // Limit the memory for the header: the manifest states the size of the header, but this size may be
  // wrong.
  if (record.header_bytes > std::min(*size, kHeaderBytesMax)) {
    return Error(ErrorKind::kCorrupted, shown + " was committed with a header of " +
                                            std::to_string(record.header_bytes) +
                                            " bytes, which no pack can have");
  }
  std::string text(record.header_bytes, '\0');
  if (auto read = file.read(0, std::as_writable_bytes(std::span(text))); !read) return read.error();
  const std::string digest = to_hex(xxh3_128(std::as_bytes(std::span(text))));
  if (digest != record.header_digest) {
    return Error(ErrorKind::kCorrupted, shown + ": its header is not the one that was committed (digest " +
                                            record.header_digest + " expected, " + digest + " found)");
  }
  auto header = decode_header(text, *size);
  if (!header) return header.error().with_context(shown);
  return header;
}

}  // namespace

Result<PackReader> PackReader::open(const Disk& disk, const std::string& path, const PackRecord& record) {
  auto file = disk.open(path);
  if (!file && file.error().kind() == ErrorKind::kNotFound)
    return Error(ErrorKind::kCorrupted, disk.shown(path) + " does not exist, but a manifest names it");
  if (!file) return file.error();
  const std::string shown = disk.shown(path);
  auto header = read_with_retry([&] { return read_header(**file, shown, record); },
                                [&] { (*file)->drop_from_page_cache(); });
  if (!header) return header.error();
  return PackReader(*std::move(file), shown, *std::move(header));
}

Result<PackReader> PackReader::open_part(const Disk& disk, const TensorInParts& tensor, std::size_t part,
                                         const std::string& owner) {
  auto file = open(disk, path_of_part(tensor.parts[part]), pack_record_of_part(tensor, part, owner));
  if (!file) return file;
  auto& stored = file->header_.layout.tensors;
  const TensorShape shape = tensor.part_shape(part);
  const bool is_this_part = stored.size() == 1 && !stored.front().box && stored.front().shape == shape &&
                            storage_order(stored.front().type) == storage_order(tensor.type) &&
                            file->header_.hashes.front() == tensor.parts[part].rows_digest;
  if (!is_this_part) {
    return Error(ErrorKind::kCorrupted, file->display_path_ + " has other rows of tensor " +
                                            in_quotes(tensor.name) + " than were committed");
  }
  TensorShape begin(shape.size(), 0);
  begin.front() = tensor.first_row(part);
  stored.front().name = tensor.name;
  stored.front().box = TensorBox{.begin = std::move(begin), .whole_shape = tensor.shape};
  return file;
}

Result<NamedPackHeader> read_pack_header(const Disk& disk, const std::string& path,
                                         const PackRecord& record) {
  auto pack = PackReader::open(disk, path, record);
  if (!pack) return pack.error();
  return (*std::move(pack)).close();
}

Error PackReader::damaged_pack_error(const std::string& where) const {
  return {ErrorKind::kCorrupted, display_path_ + " does not hold the bytes that were committed: " + where};
}

Result<void> PackReader::read(std::size_t index, std::span<std::byte> into) const {
  const PackedTensor& tensor = header_.layout.tensors.at(index);
  const auto read_once = [&]() -> Result<void> {
    if (auto read = file_->read(header_.layout.header_bytes + tensor.begin, into); !read) return read;
    if (xxh3_128(into) == header_.hashes.at(index)) return {};
    return damaged_pack_error("tensor " + in_quotes(tensor.name));
  };
  return read_with_retry(read_once, [&] { file_->drop_from_page_cache(); });
}

Result<LoadedTensors> PackReader::read_all() const {
  LoadedTensors tensors;
  for (std::size_t i = 0; i < header_.layout.tensors.size(); ++i) {
    const PackedTensor& place = header_.layout.tensors[i];
    LoadedTensor& tensor = tensors[place.name];
    tensor = {.type = place.type,
              .shape = place.shape,
              .box = place.box,
              .bytes = std::string(place.end - place.begin, '\0')};
    if (auto got = read(i, std::as_writable_bytes(std::span(tensor.bytes))); !got) return got.error();
  }
  return tensors;
}

Result<void> PackReader::verify(const std::function<void(std::uint64_t)>& on_verified) const {
  const PackLayout& layout = header_.layout;
  file_->drop_from_page_cache();  // a cached page may be intact although the disk has only a part of it
  std::vector<std::byte> piece(kBlocksAtOnce * kPackBlockBytes);
  for (std::uint64_t block = 0; block < layout.block_count(); block += kBlocksAtOnce) {
    const std::uint64_t begin = block * kPackBlockBytes;
    const auto bytes =
        std::span(piece).first(std::min<std::uint64_t>(piece.size(), layout.data_bytes - begin));
    const auto read_once = [&]() -> Result<void> {
      if (auto read = file_->read(layout.header_bytes + begin, bytes); !read) return read;
      for (std::uint64_t at = 0; at < bytes.size(); at += kPackBlockBytes) {
        const auto one = bytes.subspan(at, std::min<std::uint64_t>(kPackBlockBytes, bytes.size() - at));
        if (crc32c(one) != header_.block_crcs[(begin + at) / kPackBlockBytes])
          return damaged_pack_error("the " + std::to_string(one.size()) + " bytes from " +
                                    std::to_string(layout.header_bytes + begin + at));
      }
      return {};
    };
    const auto checked = read_with_retry(read_once, [&] { file_->drop_from_page_cache(); });
    if (!checked) return checked;
    if (on_verified) on_verified(bytes.size());
  }
  return {};
}

}  // namespace ratoon::checkpoint
