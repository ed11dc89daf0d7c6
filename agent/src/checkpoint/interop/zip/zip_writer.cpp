#include "agent/src/checkpoint/interop/zip/zip_writer.h"

#include <algorithm>
#include <limits>

#include "agent/src/checkpoint/interop/little_endian.h"
#include "agent/src/checkpoint/interop/quoted.h"
#include "agent/src/checkpoint/interop/zip/crc32.h"
#include "agent/src/checkpoint/interop/zip/zip_format.h"

namespace ratoon::checkpoint {
namespace {

constexpr std::uint64_t kAlignment = 64;
// This value means "made on Unix by version 3.0 of the format". PyTorch's zip library miniz writes the same
// value into the zip64 end record.
constexpr std::uint16_t kVersionMadeBy = 0x031e;
constexpr std::uint16_t kVersionNeededToExtract = 45;  // zip64

bool needs_zip64(std::uint64_t number) {
  return number >= zip::kIsInZip64Field;
}

std::uint32_t saturated_to_32_bits(std::uint64_t number) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(number, zip::kIsInZip64Field));
}

// Returns the zip64 field with the numbers that do not fit into 32 bits, in the order of the format, or an
// empty text if all numbers fit.
std::string zip64_extra_field(std::uint64_t size_bytes, std::uint64_t stored_bytes, std::uint64_t offset) {
  std::string numbers;
  if (needs_zip64(size_bytes)) {
    put(numbers, size_bytes);
    put(numbers, stored_bytes);
  }
  if (needs_zip64(offset)) put(numbers, offset);
  if (numbers.empty()) return numbers;
  std::string extra;
  put(extra, zip::kZip64ExtraId);
  put(extra, static_cast<std::uint16_t>(numbers.size()));
  return extra + numbers;
}

// Returns an extra field of padding, which readers skip, so that the data of the record begins at an aligned
// position.
std::string padding(std::uint64_t position) {
  const std::uint64_t begin = position + 4;  // after the field's own header
  const auto size = static_cast<std::uint16_t>((kAlignment - begin % kAlignment) % kAlignment);
  std::string extra = "FB";
  put(extra, size);
  return extra + std::string(size, 'Z');
}

}  // namespace

Result<void> ZipWriter::write(std::string_view bytes) {
  position_ += bytes.size();
  return sink_.append(std::as_bytes(std::span(bytes)));
}

Result<void> ZipWriter::begin(std::string_view name, std::uint64_t size_bytes) {
  if (open_record_) return record_still_open_error();
  Record record{.name = folder_ + "/" + std::string(name), .offset = position_, .size_bytes = size_bytes};
  record.remaining_bytes = size_bytes;
  if (record.name.size() > std::numeric_limits<std::uint16_t>::max())
    return Error(ErrorKind::kInvalid, "record " + quoted(record.name) + " has a name of over 65535 bytes");

  const std::string extra =
      zip64_extra_field(size_bytes, 0, record.offset);  // 0 stored bytes, as PyTorch writes
  const std::string pad = padding(record.offset + zip::kLocalHeaderBytes + record.name.size() + extra.size());
  std::string header;
  put(header, zip::kLocalHeaderSignature);
  put(header, std::uint16_t{0});  // version needed: as PyTorch's miniz has it
  put(header, static_cast<std::uint16_t>(zip::kNamesAreUtf8 | (size_bytes == 0 ? 0 : zip::kHasDescriptor)));
  put(header, std::uint16_t{0});  // stored
  put(header, std::uint32_t{0});  // no time: equal tensors make equal files
  header.append(12, '\0');        // CRC and sizes follow the data
  put(header, static_cast<std::uint16_t>(record.name.size()));
  put(header, static_cast<std::uint16_t>(extra.size() + pad.size()));
  open_record_ = std::move(record);
  return write(header + open_record_->name + extra + pad);
}

Error ZipWriter::record_still_open_error() const {
  return {ErrorKind::kInvalid, "record " + quoted(open_record_->name) + " of the zip file is not ended"};
}

Result<void> ZipWriter::append(std::span<const std::byte> bytes) {
  if (!open_record_ || bytes.size() > open_record_->remaining_bytes)
    return Error(ErrorKind::kInvalid, "record " + quoted(open_record_ ? open_record_->name : "") +
                                          " received more bytes than its size of " +
                                          std::to_string(open_record_ ? open_record_->size_bytes : 0));
  open_record_->remaining_bytes -= bytes.size();
  open_record_->crc = crc32(bytes, open_record_->crc);
  position_ += bytes.size();
  return sink_.append(bytes);
}

Result<void> ZipWriter::end() {
  if (!open_record_)
    return Error(ErrorKind::kInvalid, "a record of the zip file is ended, and none was begun");
  const Record record = std::move(*open_record_);
  open_record_.reset();
  if (record.remaining_bytes != 0)
    return Error(ErrorKind::kInvalid,
                 "record " + quoted(record.name) + " received " + std::to_string(record.remaining_bytes) +
                     " bytes less than its size of " + std::to_string(record.size_bytes));
  add_to_directory(record);
  if (record.size_bytes == 0) return {};
  std::string descriptor;
  put(descriptor, zip::kDataDescriptorSignature);
  put(descriptor, record.crc);
  for (int i = 0; i < 2; ++i) {
    if (needs_zip64(record.size_bytes) || needs_zip64(record.offset))
      put(descriptor, record.size_bytes);
    else
      put(descriptor, static_cast<std::uint32_t>(record.size_bytes));
  }
  return write(descriptor);
}

void ZipWriter::add_to_directory(const Record& record) {
  const std::string extra = zip64_extra_field(record.size_bytes, record.size_bytes, record.offset);
  put(directory_, zip::kCentralHeaderSignature);
  put(directory_, std::uint32_t{0});  // versions
  put(directory_,
      static_cast<std::uint16_t>(zip::kNamesAreUtf8 | (record.size_bytes == 0 ? 0 : zip::kHasDescriptor)));
  put(directory_, std::uint16_t{0});
  put(directory_, std::uint32_t{0});
  put(directory_, record.crc);
  put(directory_, saturated_to_32_bits(record.size_bytes));
  put(directory_, saturated_to_32_bits(record.size_bytes));
  put(directory_, static_cast<std::uint16_t>(record.name.size()));
  put(directory_, static_cast<std::uint16_t>(extra.size()));
  directory_.append(10, '\0');  // no comment, one disk, no attributes
  put(directory_, saturated_to_32_bits(record.offset));
  directory_ += record.name + extra;
  checksums_.push_back(record.crc);
  ++record_count_;
}

Result<void> ZipWriter::add(std::string_view name, std::string_view bytes) {
  if (auto begun = begin(name, bytes.size()); !begun) return begun;
  if (auto appended = append(std::as_bytes(std::span(bytes))); !appended) return appended;
  return end();
}

Result<void> ZipWriter::finish() {
  if (open_record_) return record_still_open_error();
  const std::uint64_t directory_offset = position_;
  const std::uint64_t end64_offset = directory_offset + directory_.size();
  std::string tail = std::move(directory_);
  const std::uint64_t directory_bytes = tail.size();
  put(tail, zip::kZip64EndSignature);
  put(tail, std::uint64_t{zip::kZip64EndBytes - 12});
  put(tail, kVersionMadeBy);
  put(tail, kVersionNeededToExtract);
  put(tail, std::uint64_t{0});  // disks
  put(tail, record_count_);
  put(tail, record_count_);
  put(tail, directory_bytes);
  put(tail, directory_offset);

  put(tail, zip::kZip64LocatorSignature);
  put(tail, std::uint32_t{0});
  put(tail, end64_offset);
  put(tail, std::uint32_t{1});

  const auto entries =
      static_cast<std::uint16_t>(std::min<std::uint64_t>(record_count_, zip::kEntriesAreInZip64));
  put(tail, zip::kEndSignature);
  put(tail, std::uint32_t{0});
  put(tail, entries);
  put(tail, entries);
  put(tail, saturated_to_32_bits(directory_bytes));
  put(tail, saturated_to_32_bits(directory_offset));
  put(tail, std::uint16_t{0});
  return write(tail);
}

}  // namespace ratoon::checkpoint
