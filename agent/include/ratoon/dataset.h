// Dataset: samples that can be read in any order. Ratoon brings MdsDataset, RecordDataset, FolderDataset and
// MemoryDataset; anything that can say its size, read by number and name its content can be one.
//
//   class Squares : public ratoon::Dataset {
//    public:
//     std::uint64_t size() const override { return 1000; }
//     std::span<const ratoon::Column> columns() const override { return columns_; }
//     std::string digest() const override { return "squares 1000"; }
//     void read(std::uint64_t id, ratoon::Sample& into) const override {
//       into.begin(id);
//       const std::uint64_t square = id * id;
//       std::memcpy(into.add(ratoon::ElementType::kUint64, {}).data(), &square, sizeof square);
//     }
//    private:
//     std::vector<ratoon::Column> columns_{{.name = "square", .type = ratoon::ElementType::kUint64}};
//   };
//
// Thread contract: const methods may be called from any number of threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/element_type.h>
#include <ratoon/sample.h>

namespace ratoon {

// What a data set says of a field of all its samples.
struct Column {
  std::string name{};
  // Where only each sample says it, as an array of MDS may, kBytes; the field has its own.
  ElementType type = ElementType::kBytes;
  // The same for all samples; nothing where it varies from one to the next.
  std::optional<std::vector<std::uint64_t>> shape{};
};

class Dataset {
 public:
  virtual ~Dataset() = default;

  [[nodiscard]] virtual std::uint64_t size() const = 0;
  [[nodiscard]] virtual std::span<const Column> columns() const = 0;

  // Names the content, never the place: equal data has equal digests wherever it lies. A checkpoint's stream
  // goes on only over the data it began with.
  [[nodiscard]] virtual std::string digest() const = 0;

  // Fills `into` with the fields of all columns, in their order. `id` is below size(). Throws Failure where
  // the data cannot be had or is not what it should be; it never gives wrong data.
  virtual void read(std::uint64_t id, Sample& into) const = 0;

  // Samples of each shard, in the order of their ids, where neighbours are cheaper to read than others; empty
  // where any order costs the same. Order::kBlocks needs it.
  [[nodiscard]] virtual std::vector<std::uint64_t> shard_sizes() const { return {}; }

  // A hint: these are read next, in this order, behind all that was expected before. A data set that fetches
  // from afar starts to, and keeps what is expected.
  virtual void expect(std::span<const std::uint64_t> ids) const { (void)ids; }
  // Takes the hint of one expect() with these very ids back: they were read, or the position has moved and
  // they will not be. Ids that nobody expects are all right.
  virtual void expect_no_more(std::span<const std::uint64_t> ids) const { (void)ids; }

  // The number of a column by its name. Throws std::invalid_argument that lists the names there are.
  [[nodiscard]] std::size_t column(std::string_view name) const;
};

}  // namespace ratoon
