#include <algorithm>
#include <stdexcept>

#include <ratoon/subset_dataset.h>

#include "agent/src/data/sets/columns.h"
#include "agent/src/data/sets/folder/content_digest.h"

namespace ratoon {

SubsetDataset::SubsetDataset(std::shared_ptr<const Dataset> all, std::span<const IdRange> ranges)
    : whole_dataset_(std::move(all)) {
  for (const IdRange& range : ranges) {
    if (range.begin > range.end || range.end > whole_dataset_->size()) {
      throw std::invalid_argument("the samples " + std::to_string(range.begin) + " to " +
                                  std::to_string(range.end) + " are not a part of the data set's " +
                                  std::to_string(whole_dataset_->size()) + " samples");
    }
    if (range.begin == range.end) continue;
    const bool goes_on =
        !ranges_.empty() && ranges_.back().first_in_all + (size_ - ranges_.back().first_id) == range.begin;
    if (!goes_on) ranges_.push_back({.first_id = size_, .first_in_all = range.begin});
    size_ += range.end - range.begin;
  }
}

std::shared_ptr<SubsetDataset> SubsetDataset::of(std::shared_ptr<const Dataset> all,
                                                 const std::vector<IdRange>& ranges) {
  return std::make_shared<SubsetDataset>(std::move(all), ranges);
}

std::shared_ptr<SubsetDataset> SubsetDataset::of_ids(std::shared_ptr<const Dataset> all,
                                                     const std::vector<std::uint64_t>& ids) {
  std::vector<IdRange> ranges;
  for (const std::uint64_t id : ids) {
    data::check_id(id, all->size());
    if (!ranges.empty() && ranges.back().end == id)
      ++ranges.back().end;
    else
      ranges.push_back({id, id + 1});
  }
  return of(std::move(all), ranges);
}

std::uint64_t SubsetDataset::end_of(std::size_t range) const {
  const std::uint64_t end = range + 1 < ranges_.size() ? ranges_[range + 1].first_id : size_;
  return ranges_[range].first_in_all + (end - ranges_[range].first_id);
}

std::uint64_t SubsetDataset::id_in_all(std::uint64_t id) const {
  data::check_id(id, size_);
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), id,
                       [](std::uint64_t wanted, const Range& range) { return wanted < range.first_id; });
  const Range& range = *(after - 1);
  return range.first_in_all + (id - range.first_id);
}

std::string SubsetDataset::digest() const {
  data::ContentDigest digest("subset-1");
  digest.add(whole_dataset_->digest());
  digest.add(std::uint64_t{ranges_.size()});
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    digest.add(ranges_[i].first_in_all);
    digest.add(end_of(i));
  }
  return digest.text();
}

void SubsetDataset::read(std::uint64_t id, Sample& into) const {
  whole_dataset_->read(id_in_all(id), into);
  into.rename(id);
}

std::vector<std::uint64_t> SubsetDataset::shard_sizes() const {
  std::vector<std::uint64_t> shard_ends;
  for (std::uint64_t end = 0; const std::uint64_t size : whole_dataset_->shard_sizes())
    shard_ends.push_back(end += size);
  std::vector<std::uint64_t> sizes;
  if (shard_ends.empty()) return sizes;
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    std::uint64_t begin = ranges_[i].first_in_all;
    for (auto shard = std::upper_bound(shard_ends.begin(), shard_ends.end(), begin); begin < end_of(i);
         ++shard) {
      const std::uint64_t end = std::min(*shard, end_of(i));
      if (end > begin) sizes.push_back(end - begin);
      begin = end;
    }
  }
  return sizes;
}

std::vector<std::uint64_t> SubsetDataset::ids_in_all(std::span<const std::uint64_t> ids) const {
  std::vector<std::uint64_t> in_all;
  in_all.reserve(ids.size());
  for (const std::uint64_t id : ids) in_all.push_back(id_in_all(id));
  return in_all;
}

void SubsetDataset::expect(std::span<const std::uint64_t> ids) const {
  whole_dataset_->expect(ids_in_all(ids));
}

void SubsetDataset::expect_no_more(std::span<const std::uint64_t> ids) const {
  whole_dataset_->expect_no_more(ids_in_all(ids));
}

}  // namespace ratoon
