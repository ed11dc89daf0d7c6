// Dataset: samples that can be read in any order. Ratoon has MdsDataset, RecordDataset, FolderDataset and
// MemoryDataset. For any other kind of data, derive a class from Dataset that implements size(), columns(),
// read() and digest().
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

// One field that all samples of a data set have.
struct Column {
  std::string name{};
  // The type of the elements. The type is kBytes if the types of this field differ between samples, as in MDS
  // files; each sample's field then states its own type.
  ElementType type = ElementType::kBytes;
  // The shape of this field in all samples; nothing if the shape varies between samples.
  std::optional<std::vector<std::uint64_t>> shape{};
};

class Dataset {
 public:
  virtual ~Dataset() = default;

  [[nodiscard]] virtual std::uint64_t size() const = 0;
  [[nodiscard]] virtual std::span<const Column> columns() const = 0;

  // Returns a digest of the content, not of the location: equal data has equal digests on every machine. A
  // run resumes from a checkpoint only if its data has the digest that the checkpoint contains.
  [[nodiscard]] virtual std::string digest() const = 0;

  // Reads sample `id`: fills `into` with one field per column, in the order of the columns. `id` is a sample
  // number below size(). Throws Failure if the data cannot be read or is damaged; read() never returns wrong
  // data.
  virtual void read(std::uint64_t id, Sample& into) const = 0;

  // Returns the number of samples of each shard, in the order of ids. An empty list means that there are no
  // shards: samples can be read in any order at the same cost. SampleOrder::kBlocks needs the sizes of
  // shards.
  [[nodiscard]] virtual std::vector<std::uint64_t> shard_sizes() const { return {}; }

  // Announces that the samples `ids` will be read, in this order, after the samples of earlier calls of
  // expect(). A remote data set begins to fetch the expected samples and keeps them until they are read.
  virtual void expect(std::span<const std::uint64_t> ids) const { (void)ids; }
  // Cancels one earlier expect() with the same ids, because the samples were read or will not be read.
  // expect_no_more() ignores sample ids that no earlier call of expect() announced.
  virtual void expect_no_more(std::span<const std::uint64_t> ids) const { (void)ids; }

  // Returns the index of the column with this name. For an unknown name, throws std::invalid_argument that
  // lists the existing names.
  [[nodiscard]] std::size_t column(std::string_view name) const;
};

}  // namespace ratoon
