// Sample: one item of a data set, as named arrays. The bytes of a sample usually stay in the data set's
// memory (a mapped file, an array); only decoded or changed fields are copied.
//
//   ratoon::Sample sample;  // reuse it for many reads: it keeps its memory
//   dataset.read(17, sample);
//   const ratoon::Field& label = sample.field(dataset.column("label"));
//   std::int64_t digit = label.as<std::int64_t>();
//
// Thread contract: only one thread at a time may use an object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ratoon/element_type.h>

namespace ratoon {

// The value of one column: an array, row-major and little-endian. A field with a single number has no
// dimensions. Fields of bytes or text have one dimension, their length.
struct Field {
  ElementType type = ElementType::kBytes;
  std::span<const std::uint64_t> shape{};
  std::span<const std::byte> bytes{};

  // The field as a single number. Throws std::invalid_argument if the field's size in bytes is not sizeof(T).
  template <class T>
  [[nodiscard]] T as() const {
    if (bytes.size() != sizeof(T)) {
      throw std::invalid_argument("the field has " + std::to_string(bytes.size()) + " bytes; expected " +
                                  std::to_string(sizeof(T)) + ", the size of T: request the column's type");
    }
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }

  [[nodiscard]] std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

class Sample {
 public:
  Sample() = default;
  Sample(const Sample&) = delete;  // its fields may lie in its own memory
  Sample& operator=(const Sample&) = delete;

  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] std::size_t size() const { return fields_.size(); }
  // Returns the field of a column, by the column's index. Throws std::out_of_range for an unknown index.
  [[nodiscard]] const Field& field(std::size_t column) const { return fields_.at(column); }
  [[nodiscard]] std::span<const Field> fields() const { return fields_; }

  // ---- Programs call the functions below only in data sets and augmentations.

  // Removes all fields of the sample and keeps its memory for the next sample.
  void begin(std::uint64_t id);
  // Changes only the sample's number. SubsetDataset calls rename(), because it numbers its samples anew.
  void rename(std::uint64_t id) { id_ = id; }
  // Adds a field whose shape and bytes are in memory that the sample does not own. The owner of the memory
  // must outlive the added field: pass the owner to keep_alive().
  void add(Field field) { fields_.push_back(field); }
  // Adds a field and copies its shape, for data sets whose samples differ in shape.
  void add(ElementType type, std::span<const std::uint64_t> shape, std::span<const std::byte> bytes);
  // Adds a field in the sample's own memory and returns its bytes, which the caller fills.
  std::span<std::byte> add(ElementType type, std::span<const std::uint64_t> shape);
  // Replaces a field with a new array in the sample's own memory and returns its bytes, which the caller
  // fills. The old bytes of the replaced field stay readable until begin(), which removes all fields.
  std::span<std::byte> replace(std::size_t column, ElementType type, std::span<const std::uint64_t> shape);
  // Returns temporary memory, for example for compressed bytes from which a field is decoded. This memory is
  // valid until the next call of begin().
  [[nodiscard]] std::span<std::byte> scratch(std::size_t size) { return allocate(size); }
  // Keeps an object alive until begin(), such as the mapped file that the fields point into.
  void keep_alive(std::shared_ptr<const void> owner);
  // A data set that waits for bytes checks the stop token that stop() returns. If a stop is requested, the
  // data set ends the wait, because the reader no longer needs the bytes.
  [[nodiscard]] const std::stop_token& stop() const { return stop_; }
  void set_stop(std::stop_token stop) { stop_ = std::move(stop); }

 private:
  // Memory into which fields point. A Block does not move until the next call of begin().
  struct Block {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0;
    std::size_t used = 0;
  };

  Field own(ElementType type, std::span<const std::uint64_t> shape, std::span<std::byte>& bytes);
  std::span<const std::uint64_t> copy(std::span<const std::uint64_t> shape);
  std::span<std::byte> allocate(std::size_t size);
  void merge_blocks();

  std::uint64_t id_ = 0;
  std::vector<Field> fields_;
  std::vector<std::shared_ptr<const void>> owners_;
  std::vector<Block> blocks_;
  std::stop_token stop_;
};

// Returns the size in bytes of an array of this type and shape; throws std::overflow_error above 2^63 bytes.
[[nodiscard]] std::size_t bytes_of(ElementType type, std::span<const std::uint64_t> shape);

}  // namespace ratoon
