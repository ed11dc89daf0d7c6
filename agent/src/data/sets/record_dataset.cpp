#include <limits>
#include <stdexcept>

#include <ratoon/failure.h>
#include <ratoon/record_dataset.h>

#include "agent/src/data/sets/columns.h"
#include "agent/src/data/sets/folder/content_digest.h"
#include "agent/src/data/sets/folder/digest_sidecar.h"
#include "agent/src/data/sets/folder/file_hash.h"
#include "agent/src/data/sets/mapped_file.h"
#include "agent/src/data/sets/refuse.h"
#include "base/contract/exit_code.h"

namespace ratoon {
namespace {

// For records below 16 KiB, asking the kernel to read ahead takes more time than it saves.
constexpr std::size_t kPrefetchMinRecordBytes = 16 * 1024;

data::MappedFile open_or_throw(const std::filesystem::path& path) {
  auto file = data::MappedFile::open(path);
  if (!file) data::throw_open_failure(path, file.error().with_context("a file of records"));
  return *std::move(file);
}

std::vector<std::size_t> column_sizes_of(const std::vector<Column>& columns) {
  data::check_columns(columns);
  std::vector<std::size_t> sizes;
  for (const Column& column : columns) {
    if (!column.shape) {
      throw std::invalid_argument("column '" + column.name +
                                  "' of a file of records has no shape: all records need the same size");
    }
    sizes.push_back(bytes_of(column.type, *column.shape));
  }
  return sizes;
}

Hash128 hash_of_records(const std::filesystem::path& path, const data::HashedFileRange& what) {
  if (const auto noted = data::find_digest_sidecar(path, what)) return *noted;
  const auto hashed = data::hash_file(path, what.skipped_bytes);
  if (!hashed) data::throw_dataset_failure(hashed.error());
  if (hashed->bytes != what.file_bytes || hashed->modified_nanoseconds != what.modified_nanoseconds) {
    throw Failure(
        static_cast<int>(ExitCode::kStartAgain),
        "the file " + path.string() + " was replaced after it was opened. The next start reads the new file");
  }
  data::save_digest_sidecar(path, what, hashed->hash);
  return hashed->hash;
}

}  // namespace

struct RecordDataset::File {
  std::filesystem::path path;
  data::MappedFile map;
};

RecordDataset::RecordDataset(const std::filesystem::path& file, RecordOptions options)
    : options_(std::move(options)), column_bytes_(column_sizes_of(options_.columns)) {
  for (const std::size_t bytes : column_bytes_) {
    if (bytes > std::numeric_limits<std::size_t>::max() - record_bytes_)
      throw std::invalid_argument("the records of " + file.string() + " would have 2^64 bytes or more");
    record_bytes_ += bytes;
  }
  if (record_bytes_ == 0)
    throw std::invalid_argument("the records of " + file.string() + " would have no bytes");
  file_ = std::make_unique<const File>(File{file, open_or_throw(file)});
  const std::uint64_t file_bytes = file_->map.bytes().size();
  const std::uint64_t header = options_.header_bytes;
  if (file_bytes < header || (file_bytes - header) % record_bytes_ != 0) {
    data::throw_dataset_failure(
        "the file " + file.string() + " has " + std::to_string(file_bytes) +
        " bytes, which is no whole number of records of " + std::to_string(record_bytes_) + " bytes after " +
        std::to_string(header) +
        " bytes of header. Check that the file was copied completely, or correct the columns");
  }
  size_ = (file_bytes - header) / record_bytes_;
}

RecordDataset::~RecordDataset() = default;

std::shared_ptr<RecordDataset> RecordDataset::open(const std::filesystem::path& file, RecordOptions options) {
  return std::make_shared<RecordDataset>(file, std::move(options));
}

std::string RecordDataset::digest() const {
  const std::lock_guard lock(mutex_);
  if (!digest_.empty()) return digest_;
  data::ContentDigest digest(options_.declared_digest.empty() ? "records-1" : "records-declared-1");
  digest.add(options_.columns);
  digest.add(size_);
  if (!options_.declared_digest.empty()) {
    digest.add(options_.declared_digest);
  } else {
    digest.add(hash_of_records(
        file_->path, {file_->map.bytes().size(), options_.header_bytes, file_->map.modified_nanoseconds()}));
  }
  digest_ = digest.text();
  return digest_;
}

void RecordDataset::read(std::uint64_t id, Sample& into) const {
  data::check_id(id, size_);
  into.begin(id);
  const std::byte* begin = file_->map.bytes().data() + options_.header_bytes + id * record_bytes_;
  for (std::size_t i = 0; i < column_bytes_.size(); ++i) {
    const Column& column = options_.columns[i];
    into.add({.type = column.type, .shape = *column.shape, .bytes = {begin, column_bytes_[i]}});
    begin += column_bytes_[i];
  }
}

void RecordDataset::expect(std::span<const std::uint64_t> ids) const {
  if (record_bytes_ < kPrefetchMinRecordBytes) return;
  for (const std::uint64_t id : ids) {
    if (id < size_) file_->map.prefetch(options_.header_bytes + id * record_bytes_, record_bytes_);
  }
}

}  // namespace ratoon
