// ConcatDataset: joins data sets with the same columns into one: first all samples of the first data set,
// then those of the second, and so on. To mix data sets by weight, use several sources of one Stream instead.
//
//   auto cifar = ratoon::ConcatDataset::of({batch_1, batch_2, batch_3, batch_4, batch_5});
//
// Thread contract: any thread may call any function.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ratoon/dataset.h>

namespace ratoon {

class ConcatDataset final : public Dataset {
 public:
  // Throws std::invalid_argument if `parts` is empty, or if two data sets differ in the names or types of
  // their columns.
  explicit ConcatDataset(std::vector<std::shared_ptr<const Dataset>> parts);
  [[nodiscard]] static std::shared_ptr<ConcatDataset> of(std::vector<std::shared_ptr<const Dataset>> parts);

  [[nodiscard]] std::uint64_t size() const override { return part_ends_.back(); }
  // If the joined data sets differ in a column's shape, the column has no fixed shape.
  [[nodiscard]] std::span<const Column> columns() const override { return columns_; }
  // Returns a digest over the digests of the joined data sets, in their order.
  [[nodiscard]] std::string digest() const override;
  void read(std::uint64_t id, Sample& into) const override;
  // Each joined data set that has no shards counts as one shard.
  [[nodiscard]] std::vector<std::uint64_t> shard_sizes() const override;
  void expect(std::span<const std::uint64_t> ids) const override;
  void expect_no_more(std::span<const std::uint64_t> ids) const override;

 private:
  // part_of() returns the index of the joined data set that has sample `id`, and first_of() the id of the
  // first sample of a joined data set.
  [[nodiscard]] std::size_t part_of(std::uint64_t id) const;
  [[nodiscard]] std::uint64_t first_of(std::size_t part) const {
    return part == 0 ? 0 : part_ends_[part - 1];
  }
  [[nodiscard]] std::vector<std::vector<std::uint64_t>> ids_of_parts(
      std::span<const std::uint64_t> ids) const;

  std::vector<std::shared_ptr<const Dataset>> parts_;
  std::vector<std::uint64_t> part_ends_;
  std::vector<Column> columns_;
};

}  // namespace ratoon
