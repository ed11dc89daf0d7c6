// MdsWriter: writes a folder of shards in MDS format, for MdsDataset and for MosaicML Streaming. MosaicML's
// own writer makes shards with identical bytes from the same samples.
//
//   ratoon::MdsWriter writer("data/digits", {{"image", "ndarray:uint8:28,28"}, {"label", "int"}},
//                            {.hashes = {"xxh3_128"}});
//   for (const auto& [pixels, label] : digits) {
//     const std::uint64_t shape[] = {28, 28};
//     const ratoon::Field image{ratoon::ElementType::kUint8, shape, std::as_bytes(std::span(pixels))};
//     writer.write({{"image", image}, {"label", label}});
//   }
//   writer.finish();
//
// A shard file appears only when it is complete, and index.json is written after the last shard. A folder
// without index.json is an unfinished data set, which a new MdsWriter writes again from the beginning.
//
// Thread contract: only one thread at a time may use an object.
#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <ratoon/sample.h>

namespace ratoon {

struct MdsWriterOptions {
  // The compression format: "br", "bz2", "gz", "snappy" or "zstd". A compression level may follow the format,
  // as in "zstd:22". If `compression` is empty, shards are not compressed.
  std::string compression{};
  // The hash algorithms. For each algorithm, index.json contains the hash of every shard file. MdsDataset
  // checks all hashes; MosaicML Streaming checks the one hash that its user selects.
  std::vector<std::string> hashes{};
  // The maximum size of a shard, at most 2^32-1. If a sample would make a shard exceed this size, the sample
  // begins the next shard. If size_limit_bytes is 0, one shard has all samples.
  std::uint64_t size_limit_bytes = std::uint64_t{1} << 26;
};

// The value of one sample in one column. MdsWriter::write() copies the value and keeps no reference to it.
//
//   a number                 int, uint8 ... float64, str_int, str_float
//   a text                   str, json, str_decimal, str_int
//   a field with an array    ndarray of its type and shape; pil, as uint8 of (height, width) or
//                            (height, width, 2 to 4)
//   a field with bytes       any column: stored unchanged; the only value for bytes, jpeg and png
//   fields                   the elements of a list
class MdsValue {
 public:
  using Variant =
      std::variant<std::int64_t, std::uint64_t, double, std::string_view, Field, std::span<const Field>>;

  template <std::integral T>
    requires(!std::same_as<T, bool> && !std::same_as<T, char>)
  MdsValue(T number)  // NOLINT: implicit by design, as are the others
      : value_(static_cast<std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>(number)) {}
  template <std::floating_point T>
  MdsValue(T number) : value_(static_cast<double>(number)) {}  // NOLINT
  template <class T>
    requires std::convertible_to<const T&, std::string_view>
  MdsValue(const T& text) : value_(std::string_view(text)) {}      // NOLINT
  MdsValue(const Field& field) : value_(field) {}                  // NOLINT
  MdsValue(std::span<const Field> elements) : value_(elements) {}  // NOLINT

  [[nodiscard]] const Variant& get() const { return value_; }

 private:
  Variant value_;
};

class MdsWriter {
 public:
  struct Value {
    std::string_view column;
    MdsValue value;
  };

  // Takes columns and the names of their encodings (docs/reference/mds.md). Creates the folder. Throws
  // std::invalid_argument if a column's encoding cannot be written. Throws Failure if the folder already has
  // a data set or cannot be written.
  MdsWriter(std::filesystem::path folder, std::vector<std::pair<std::string, std::string>> columns,
            MdsWriterOptions options = {});
  ~MdsWriter();

  // Writes a sample: one value for each column, in any order of the columns. Throws std::invalid_argument if
  // a column is missing or unknown, or if a value does not fit the column's encoding. Throws Failure if a
  // shard cannot be stored. After a Failure of write(), the writer cannot finish the data set.
  void write(std::span<const Value> sample);
  void write(std::initializer_list<Value> sample) { write(std::span(sample.begin(), sample.size())); }

  // Writes the last shard and the index. MdsDataset can open the folder only after finish() has returned.
  void finish();

 private:
  struct Parts;
  std::unique_ptr<Parts> impl_;
};

}  // namespace ratoon
