// Batch: one rank's share of a batch, as columns of arrays that lie in one piece each.
//
//   ratoon::Batch batch = loader.next();
//   std::span<const float> x = batch.column("x").values<float>();  // batch.size() rows, one after the other
//   for (std::size_t row = 0; row < batch.size(); ++row)
//     learn(batch.column("text").row(row).text(), batch.slots()[row].number);
//
// A Batch is a handle: copies share the memory, and it stays as it is for as long as one of them lives. When
// the last one goes, the loader uses the memory again.
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

// One field of all samples of a batch. Where all rows have the same shape they are stacked into one array;
// otherwise they lie one after the other without gaps, each with a shape of its own.
class BatchColumn {
 public:
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] ElementType type() const { return type_; }
  [[nodiscard]] std::size_t rows() const { return rows_; }

  [[nodiscard]] bool is_stacked() const { return is_stacked_; }
  // Of the stacked array: the number of rows, then the shape of each. Throws std::logic_error if the rows
  // differ.
  [[nodiscard]] std::span<const std::uint64_t> shape() const;

  // Of all rows. The first byte's address is a multiple of 64.
  [[nodiscard]] std::span<const std::byte> bytes() const { return {memory_.get(), bytes_}; }
  // The same as numbers. Throws std::invalid_argument if they are of another type.
  template <class T>
  [[nodiscard]] std::span<const T> values() const {
    check_type(element_type_of<T>());
    return {reinterpret_cast<const T*>(memory_.get()), bytes_ / sizeof(T)};
  }

  // One sample's. Throws std::out_of_range.
  [[nodiscard]] Field row(std::size_t row) const;
  // Where rows differ: the first byte of each and, as the last number, the end. Empty if they are stacked.
  [[nodiscard]] std::span<const std::uint64_t> offsets() const { return offsets_; }

 private:
  friend class data::ColumnMaker;

  void check_type(ElementType wanted) const;

  std::string name_;
  ElementType type_ = ElementType::kBytes;
  std::size_t rows_ = 0;
  bool is_stacked_ = true;
  std::vector<std::uint64_t> shape_;          // stacked: with the number of rows in front
  std::vector<std::uint64_t> offsets_;        // otherwise
  std::vector<std::uint64_t> dimensions_;     // otherwise: those of all rows
  std::vector<std::uint64_t> dimension_end_;  // and where each row's end
  std::shared_ptr<std::byte> memory_;
  std::size_t capacity_ = 0;
  std::size_t bytes_ = 0;
};

class Batch {
 public:
  // Batches that the run took before it.
  [[nodiscard]] std::uint64_t index() const;
  // The epoch of the stream that it begins in, and the batches that began in that epoch before it.
  [[nodiscard]] std::uint64_t epoch() const;
  [[nodiscard]] std::uint64_t index_in_epoch() const;

  // The slots of all ranks, and those of this one.
  [[nodiscard]] SlotRange range() const;
  [[nodiscard]] SlotRange share() const;
  // What each row is: slot, epoch, source and sample.
  [[nodiscard]] std::span<const Slot> slots() const;

  // Rows: samples of this rank. May be none, where there are more ranks than slots; columns then have the
  // type and the shape of a row that the data set declares or, where it declares none or samples are
  // augmented, those of the first sample of range().
  [[nodiscard]] std::size_t size() const;
  // What this rank's mean counts in the mean of all: its part of the slots. Those of all ranks sum to 1.
  [[nodiscard]] double weight() const;

  [[nodiscard]] std::span<const BatchColumn> columns() const;
  // Throws std::invalid_argument that lists the names there are.
  [[nodiscard]] const BatchColumn& column(std::string_view name) const;

  // ---- for the loader
  explicit Batch(std::shared_ptr<const data::BatchBody> body) : body_(std::move(body)) {}
  [[nodiscard]] const data::BatchBody& body() const { return *body_; }

 private:
  std::shared_ptr<const data::BatchBody> body_;
};

}  // namespace ratoon
