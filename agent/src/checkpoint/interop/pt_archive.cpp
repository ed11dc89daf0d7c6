#include "agent/src/checkpoint/interop/pt_archive.h"

#include <algorithm>
#include <charconv>

#include "agent/src/checkpoint/interop/quoted.h"
#include "agent/src/checkpoint/interop/zip/zip_reader.h"

namespace ratoon::checkpoint {
namespace {

using Bytes = std::span<const std::byte>;

constexpr int kVersionMax = 10;  // of the archive, as PyTorch 2.11 reads them

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Error unsupported_file_error(std::string what) {
  return Error(ErrorKind::kInvalid, std::move(what));
}

// Checks the first bytes: a file of torch.save begins with the header of a record, as every zip file does.
Result<void> check_is_torch_save_file(Bytes file) {
  const std::string_view text = text_of(file);
  constexpr std::string_view kOldMagic("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 14);
  if (text.starts_with("PK\x03\x04")) return {};
  if (text.starts_with(kOldMagic))
    return unsupported_file_error(
        "the file is from torch.save before PyTorch 1.6, or with _use_new_zipfile_serialization="
        "False; rewrite it in Python: torch.save(torch.load(path, weights_only=True), path)");
  if (text.starts_with("\x80"))
    return unsupported_file_error(
        "the file is a bare pickle, not a file of torch.save; load it with the program that made it, and "
        "save its tensors with torch.save");
  return unsupported_file_error(
      "the file is not a file of torch.save, which begins as a zip file does; save the tensors with "
      "torch.save");
}

Result<void> check_version(Bytes record) {
  std::string_view text = text_of(record);
  if (text.ends_with('\n')) text.remove_suffix(1);
  int version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (error == std::errc() && end == text.data() + text.size() && version >= 1 && version <= kVersionMax)
    return {};
  return unsupported_file_error("the file is of version " + quoted(text) + ", where 1 to " +
                                std::to_string(kVersionMax) +
                                " are known; save it with PyTorch 2.11 or older");
}

Result<void> check_required_records(const PtArchive& archive) {
  const auto& records = archive.records;
  if (records.contains("constants.pkl"))
    return unsupported_file_error(
        "the file is a TorchScript program, as torch.jit.save and LibTorch's torch::save write, not a state; "
        "save module.state_dict() in Python, or torch::pickle_save() of a dictionary of tensors in C++");
  if (!records.contains("data.pkl"))
    return unsupported_file_error("the file is a zip file without a record " +
                                  quoted(archive.shown("data.pkl")) +
                                  ", which every file of torch.save has; save the tensors with torch.save");
  if (const auto order = records.find("byteorder");
      order != records.end() && text_of(order->second) != "little")
    return unsupported_file_error(
        "the file's numbers are of byte order " + quoted(text_of(order->second)) +
        "; load it in Python, and save it again on a machine that is little-endian");
  const auto version = records.find("version");
  return version == records.end() ? Result<void>() : check_version(version->second);
}

Result<void> verify_all(const std::vector<ZipRecord>& records, bool checksums_may_be_missing) {
  const bool are_missing =
      std::all_of(records.begin(), records.end(), [](const ZipRecord& record) { return record.crc == 0; });
  if (are_missing && checksums_may_be_missing) return {};
  if (are_missing)
    return unsupported_file_error(
        "no record has a checksum, as after torch.serialization.set_crc32_options(False): damaged "
        "bytes would not be detected; allow missing checksums to read it anyway");
  for (const ZipRecord& record : records)
    if (auto verified = verify(record); !verified) return verified;
  return {};
}

}  // namespace

std::string PtArchive::shown(std::string_view record) const {
  return folder + "/" + std::string(record);
}

Result<PtArchive> open_archive(Bytes file, bool checksums_may_be_missing) {
  if (auto known = check_is_torch_save_file(file); !known) return known.error();
  const auto records = read_zip(file);
  if (!records) return records.error();
  if (auto verified = verify_all(*records, checksums_may_be_missing); !verified) return verified.error();

  PtArchive archive;
  for (const ZipRecord& record : *records) {
    const std::size_t slash = record.name.find('/');
    const std::string folder = record.name.substr(0, slash);
    if (archive.records.empty()) archive.folder = folder;
    if (slash == std::string::npos || folder != archive.folder)
      return unsupported_file_error("the record " + quoted(record.name) + " is not in the folder " +
                                    quoted(archive.folder) + ", where torch.save has all records");
    archive.records.emplace(record.name.substr(slash + 1), record.bytes);
  }
  if (auto checked = check_required_records(archive); !checked) return checked.error();
  return archive;
}

}  // namespace ratoon::checkpoint
