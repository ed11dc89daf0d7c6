// Sample: one item of a data set, as named arrays. Its bytes usually lie where the data set has them (a
// mapped file, memory); only what is decoded or changed is copied.
//
//   ratoon::Sample sample;  // one for many reads: it keeps its memory
//   dataset.read(17, sample);
//   const ratoon::Field& label = sample.field(dataset.column("label"));
//   std::int64_t digit = label.as<std::int64_t>();
//
// Thread contract: one thread at a time.
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

// An array: row by row, little-endian. A number alone has no dimensions. Bytes and text have one dimension,
// their length.
struct Field {
  ElementType type = ElementType::kBytes;
  std::span<const std::uint64_t> shape{};
  std::span<const std::byte> bytes{};

  // A number alone. Throws std::invalid_argument if the field is larger or smaller than a T.
  template <class T>
  [[nodiscard]] T as() const {
    if (bytes.size() != sizeof(T)) {
      throw std::invalid_argument("the field has " + std::to_string(bytes.size()) + " bytes, not the " +
                                  std::to_string(sizeof(T)) + " of the type that was asked for");
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
  // In the order of the data set's columns. Throws std::out_of_range.
  [[nodiscard]] const Field& field(std::size_t column) const { return fields_.at(column); }
  [[nodiscard]] std::span<const Field> fields() const { return fields_; }

  // ---- for data sets and augmentations

  // Forgets every field, keeps the memory.
  void begin(std::uint64_t id);
  // Another number for the same fields: what a part calls it differs from what the whole does.
  void rename(std::uint64_t id) { id_ = id; }
  // A field whose shape and bytes lie elsewhere, and stay there as long as what keep_alive() was given.
  void add(Field field) { fields_.push_back(field); }
  // The same with a shape that is copied, for data sets whose shapes vary.
  void add(ElementType type, std::span<const std::uint64_t> shape, std::span<const std::byte> bytes);
  // A field whose bytes are the sample's own; the caller fills them.
  std::span<std::byte> add(ElementType type, std::span<const std::uint64_t> shape);
  // Puts another array in the place of a field, in the sample's own memory; the caller fills it. What the
  // field held before stays readable until begin().
  std::span<std::byte> replace(std::size_t column, ElementType type, std::span<const std::uint64_t> shape);
  // Memory that is no field, until begin(): for what a field is decoded from.
  [[nodiscard]] std::span<std::byte> scratch(std::size_t size) { return allocate(size); }
  // Held until begin(): the file that the fields lie in.
  void keep_alive(std::shared_ptr<const void> owner);
  // Whoever waits long for bytes asks this, and gives up when it says so: the reader has no use for them any
  // more.
  [[nodiscard]] const std::stop_token& stop() const { return stop_; }
  void set_stop(std::stop_token stop) { stop_ = std::move(stop); }

 private:
  // Memory that does not move until begin(), since fields point into it.
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

// Bytes that an array of this type and shape takes. Throws std::overflow_error beyond 2^63.
[[nodiscard]] std::size_t bytes_of(ElementType type, std::span<const std::uint64_t> shape);

}  // namespace ratoon
