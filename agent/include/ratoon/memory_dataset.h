// MemoryDataset: samples that are already in memory, as named arrays.
//
//   std::vector<float> images = ...;         // 60000 * 28 * 28 of them, sample by sample
//   std::vector<std::int64_t> labels = ...;  // 60000
//   auto digits = ratoon::MemoryDataset::of({ratoon::MemoryColumn("image", std::move(images), {28, 28}),
//                                            ratoon::MemoryColumn::view("label", labels)});
//
// Thread contract: any thread may call any function. The arrays must not change while the data set exists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ratoon/dataset.h>

namespace ratoon {

// The values of one column for all samples, one sample after the other. `shape` is the shape of one sample's
// value. Without `shape`, each value is a single number.
class MemoryColumn {
 public:
  // Owns the array.
  template <class T>
  MemoryColumn(std::string name, std::vector<T> values, std::vector<std::uint64_t> shape = {})
      : MemoryColumn(std::move(name), std::make_shared<const std::vector<T>>(std::move(values)),
                     std::move(shape)) {}

  // Refers to the caller's array and does not copy it. The array must outlive the data set.
  template <class T>
  static MemoryColumn view(std::string name, const std::vector<T>& values,
                           std::vector<std::uint64_t> shape = {}) {
    return {
        {std::move(name), element_type_of<T>(), std::move(shape)}, std::as_bytes(std::span(values)), nullptr};
  }

  // Takes bytes of any element type. `owner` keeps the bytes alive; if it is null, the caller must keep the
  // bytes alive.
  MemoryColumn(Column column, std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
      : column_(std::move(column)), bytes_(bytes), owner_(std::move(owner)) {}

  [[nodiscard]] const Column& column() const { return column_; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  template <class T>
  MemoryColumn(std::string name, std::shared_ptr<const std::vector<T>> values,
               std::vector<std::uint64_t> shape)
      : column_{std::move(name), element_type_of<T>(), std::move(shape)},
        bytes_(std::as_bytes(std::span(*values))),
        owner_(std::move(values)) {}

  Column column_;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
};

class MemoryDataset final : public Dataset {
 public:
  // Throws std::invalid_argument if there is no column, if two columns have the same name, if an array is not
  // a whole number of samples, or if two arrays have different numbers of samples.
  explicit MemoryDataset(std::vector<MemoryColumn> columns);
  [[nodiscard]] static std::shared_ptr<MemoryDataset> of(std::vector<MemoryColumn> columns);

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] std::span<const Column> columns() const override { return columns_; }
  // Returns a digest over the names, types and shapes of all columns and over all bytes. The first call of
  // digest() reads all bytes to compute the digest.
  [[nodiscard]] std::string digest() const override;
  // The fields of `into` point into the arrays: they are valid while the data set exists.
  void read(std::uint64_t id, Sample& into) const override;

 private:
  struct Array {
    const std::byte* begin;
    std::size_t sample_bytes;
  };

  std::uint64_t size_ = 0;
  std::vector<Column> columns_;
  std::vector<Array> arrays_;
  std::vector<MemoryColumn> memory_columns_;
  mutable std::mutex mutex_;
  mutable std::string digest_;  // empty until the first call of digest(); guarded by mutex_
};

}  // namespace ratoon
