// SubsetDataset: some samples of another data set, numbered from 0.
//
//   auto train = ratoon::SubsetDataset::of(all, {{0, 50000}});
//   auto validation = ratoon::SubsetDataset::of(all, {{50000, all->size()}});
//   auto odd = ratoon::SubsetDataset::of_ids(all, {1, 3, 5, 7});
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

// A range of samples of a data set, from `begin` to before `end`.
struct IdRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  friend bool operator==(const IdRange&, const IdRange&) = default;
};

class SubsetDataset final : public Dataset {
 public:
  // The samples of all ranges, one range after the other; a sample may be in several ranges. The list of
  // ranges needs 16 bytes per range. Throws std::invalid_argument if a range ends before its begin or after
  // the end of the data set.
  SubsetDataset(std::shared_ptr<const Dataset> all, std::span<const IdRange> ranges);
  [[nodiscard]] static std::shared_ptr<SubsetDataset> of(std::shared_ptr<const Dataset> all,
                                                         const std::vector<IdRange>& ranges);
  // Returns a subset of the samples `ids`, in this order. Consecutive ids are stored as one range.
  [[nodiscard]] static std::shared_ptr<SubsetDataset> of_ids(std::shared_ptr<const Dataset> all,
                                                             const std::vector<std::uint64_t>& ids);

  // Returns the id, in the whole data set, of sample `id` of the subset.
  [[nodiscard]] std::uint64_t id_in_all(std::uint64_t id) const;

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] std::span<const Column> columns() const override { return whole_dataset_->columns(); }
  // Returns a digest of the whole data set's digest and the ranges.
  [[nodiscard]] std::string digest() const override;
  void read(std::uint64_t id, Sample& into) const override;
  // For each range in order, returns how many of its samples are in each shard of the whole data set.
  [[nodiscard]] std::vector<std::uint64_t> shard_sizes() const override;
  void expect(std::span<const std::uint64_t> ids) const override;
  void expect_no_more(std::span<const std::uint64_t> ids) const override;

 private:
  struct Range {
    std::uint64_t first_id;  // id in this data set
    std::uint64_t first_in_all;
  };

  [[nodiscard]] std::uint64_t end_of(std::size_t range) const;
  [[nodiscard]] std::vector<std::uint64_t> ids_in_all(std::span<const std::uint64_t> ids) const;

  std::shared_ptr<const Dataset> whole_dataset_;
  std::vector<Range> ranges_;  // none is empty
  std::uint64_t size_ = 0;
};

}  // namespace ratoon
