// Batch: the samples of a batch that one rank trains, as columns. Each column of a batch is one contiguous
// array.
//
//   ratoon::Batch batch = loader.next();
//   std::span<const float> x = batch.column("x").values<float>();  // batch.size() rows, one after the other
//   for (std::size_t row = 0; row < batch.size(); ++row)
//     learn(batch.column("text").row(row).text(), batch.slots()[row].number);
//
// Copies of a Batch share one piece of memory, which does not change while a copy exists. After the last copy
// of a batch is destroyed, the DataLoader reuses the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/sample.h>
#include <ratoon/stream_reader.h>

namespace ratoon {

namespace data {
struct BatchBody;
class ColumnMaker;
}  // namespace data

// One field of all samples of a batch. Rows of the same shape are stacked into one array, whose first index
// selects the row. Rows of different shapes are stored one after the other without gaps, and each row has its
// own shape.
class BatchColumn {
 public:
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] ElementType type() const { return type_; }
  [[nodiscard]] std::size_t rows() const { return rows_; }

  [[nodiscard]] bool is_stacked() const { return is_stacked_; }
  // The shape of the stacked array: the number of rows, then the shape of a row. Throws std::logic_error if
  // the rows of the column differ in shape.
  [[nodiscard]] std::span<const std::uint64_t> shape() const;

  // The bytes of all rows of the column. The address of the column's first byte is a multiple of 64.
  [[nodiscard]] std::span<const std::byte> bytes() const { return {memory_.get(), bytes_}; }
  // The values of all rows of the column, as numbers of type T. Throws std::invalid_argument if the column's
  // type is not T.
  template <class T>
  [[nodiscard]] std::span<const T> values() const {
    check_type(element_type_of<T>());
    return {reinterpret_cast<const T*>(memory_.get()), bytes_ / sizeof(T)};
  }

  // One sample's field. Throws std::out_of_range.
  [[nodiscard]] Field row(std::size_t row) const;
  // If rows differ in shape, returns the offset of each row's first byte, then the total length in bytes.
  // Returns an empty list if the rows have the same shape and are stacked into one array.
  [[nodiscard]] std::span<const std::uint64_t> offsets() const { return offsets_; }

 private:
  friend class data::ColumnMaker;

  void check_type(ElementType wanted) const;

  std::string name_;
  ElementType type_ = ElementType::kBytes;
  std::size_t rows_ = 0;
  bool is_stacked_ = true;
  std::vector<std::uint64_t> shape_;           // stacked: the number of rows, then the shape of a row
  std::vector<std::uint64_t> offsets_;         // not stacked
  std::vector<std::uint64_t> dimensions_;      // not stacked: the dimensions of all rows
  std::vector<std::uint64_t> dimension_ends_;  // not stacked: the end of each row's dimensions in dimensions_
  std::shared_ptr<std::byte> memory_;
  std::size_t capacity_ = 0;
  std::size_t bytes_ = 0;
};

class Batch {
 public:
  // The number of batches of the run before this batch.
  [[nodiscard]] std::uint64_t index() const;
  // epoch() returns the epoch in which the batch begins. index_in_epoch() returns the number of earlier
  // batches that began in that epoch.
  [[nodiscard]] std::uint64_t epoch() const;
  [[nodiscard]] std::uint64_t index_in_epoch() const;

  // The batch's positions (slots) in the data stream: range() returns those of all ranks, share() those of
  // this rank.
  [[nodiscard]] SlotRange range() const;
  [[nodiscard]] SlotRange share() const;
  // Returns each row's Slot: the position in the data stream, the epoch, the source and the sample's number.
  [[nodiscard]] std::span<const Slot> slots() const;

  // The number of rows: each row is one sample of this rank. A rank may have 0 rows, if a batch has fewer
  // samples than there are ranks. The columns of a batch with 0 rows have the type and row shape that the
  // data set declares. If the data set declares no row shape, or if samples are augmented, a column with 0
  // rows has the row shape of the batch's first sample over all ranks.
  [[nodiscard]] std::size_t size() const;
  // The weight with which a mean of this rank, such as its mean loss, counts in the mean over all ranks: the
  // rank's fraction of the batch's samples. For each batch, the weights of all ranks sum to 1.
  [[nodiscard]] double weight() const;

  [[nodiscard]] std::span<const BatchColumn> columns() const;
  // If no column has this name, throws std::invalid_argument that lists the existing names.
  [[nodiscard]] const BatchColumn& column(std::string_view name) const;

  // ---- Only the DataLoader uses the functions below.
  explicit Batch(std::shared_ptr<const data::BatchBody> body) : body_(std::move(body)) {}
  [[nodiscard]] const data::BatchBody& body() const { return *body_; }

 private:
  std::shared_ptr<const data::BatchBody> body_;
};

}  // namespace ratoon
