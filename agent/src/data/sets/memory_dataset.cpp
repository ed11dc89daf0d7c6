#include <ratoon/memory_dataset.h>

#include "agent/src/data/sets/columns.h"
#include "agent/src/data/sets/folder/content_digest.h"

namespace ratoon {
namespace {

std::uint64_t count_samples(const MemoryColumn& content) {
  const Column& column = content.column();
  if (!column.shape) {
    throw std::invalid_argument("column '" + column.name +
                                "' of a MemoryDataset has no shape: all its samples need one shape");
  }
  const std::size_t sample_bytes = bytes_of(column.type, *column.shape);
  if (sample_bytes == 0 || content.bytes().size() % sample_bytes != 0) {
    throw std::invalid_argument("column '" + column.name + "' has " + std::to_string(content.bytes().size()) +
                                " bytes, which is not a whole number of samples of " +
                                std::to_string(sample_bytes) + " bytes");
  }
  return content.bytes().size() / sample_bytes;
}

}  // namespace

MemoryDataset::MemoryDataset(std::vector<MemoryColumn> columns) : memory_columns_(std::move(columns)) {
  for (const MemoryColumn& content : memory_columns_) columns_.push_back(content.column());
  data::check_columns(columns_);
  size_ = count_samples(memory_columns_.front());
  for (const MemoryColumn& content : memory_columns_) {
    const std::uint64_t samples = count_samples(content);
    if (samples != size_) {
      throw std::invalid_argument("column '" + content.column().name + "' has " + std::to_string(samples) +
                                  " samples, but column '" + columns_.front().name + "' has " +
                                  std::to_string(size_));
    }
    arrays_.push_back({content.bytes().data(), bytes_of(content.column().type, *content.column().shape)});
  }
}

std::shared_ptr<MemoryDataset> MemoryDataset::of(std::vector<MemoryColumn> columns) {
  return std::make_shared<MemoryDataset>(std::move(columns));
}

std::string MemoryDataset::digest() const {
  const std::lock_guard lock(mutex_);
  if (!digest_.empty()) return digest_;
  data::ContentDigest digest("memory-1");
  digest.add(columns_);
  digest.add(size_);
  for (const MemoryColumn& content : memory_columns_) digest.add(content.bytes());
  digest_ = digest.text();
  return digest_;
}

void MemoryDataset::read(std::uint64_t id, Sample& into) const {
  data::check_id(id, size_);
  into.begin(id);
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    const Array& array = arrays_[i];
    into.add({.type = columns_[i].type,
              .shape = *columns_[i].shape,
              .bytes = {array.begin + id * array.sample_bytes, array.sample_bytes}});
  }
}

}  // namespace ratoon
