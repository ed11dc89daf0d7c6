#include <algorithm>

#include <ratoon/concat_dataset.h>

#include "agent/src/data/sets/columns.h"
#include "agent/src/data/sets/folder/content_digest.h"

namespace ratoon {

ConcatDataset::ConcatDataset(std::vector<std::shared_ptr<const Dataset>> parts)
    : parts_(std::move(parts)), columns_(data::common_columns(parts_)) {
  for (std::uint64_t end = 0; const auto& part : parts_) part_ends_.push_back(end += part->size());
}

std::shared_ptr<ConcatDataset> ConcatDataset::of(std::vector<std::shared_ptr<const Dataset>> parts) {
  return std::make_shared<ConcatDataset>(std::move(parts));
}

std::size_t ConcatDataset::part_of(std::uint64_t id) const {
  return static_cast<std::size_t>(std::upper_bound(part_ends_.begin(), part_ends_.end(), id) -
                                  part_ends_.begin());
}

std::string ConcatDataset::digest() const {
  data::ContentDigest digest("concat-1");
  digest.add(std::uint64_t{parts_.size()});
  for (const auto& part : parts_) digest.add(part->digest());
  return digest.text();
}

void ConcatDataset::read(std::uint64_t id, Sample& into) const {
  data::check_id(id, size());
  const std::size_t part = part_of(id);
  parts_[part]->read(id - first_of(part), into);
  into.rename(id);
}

std::vector<std::uint64_t> ConcatDataset::shard_sizes() const {
  std::vector<std::uint64_t> sizes;
  bool has_shards = false;
  for (const auto& part : parts_) {
    const auto shards = part->shard_sizes();
    has_shards = has_shards || !shards.empty();
    if (shards.empty() && part->size() != 0) sizes.push_back(part->size());
    sizes.insert(sizes.end(), shards.begin(), shards.end());
  }
  return has_shards ? sizes : std::vector<std::uint64_t>();
}

std::vector<std::vector<std::uint64_t>> ConcatDataset::ids_of_parts(
    std::span<const std::uint64_t> ids) const {
  std::vector<std::vector<std::uint64_t>> of_parts(parts_.size());
  for (const std::uint64_t id : ids) {
    data::check_id(id, size());
    const std::size_t part = part_of(id);
    of_parts[part].push_back(id - first_of(part));
  }
  return of_parts;
}

void ConcatDataset::expect(std::span<const std::uint64_t> ids) const {
  const auto of_parts = ids_of_parts(ids);
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    if (!of_parts[part].empty()) parts_[part]->expect(of_parts[part]);
  }
}

void ConcatDataset::expect_no_more(std::span<const std::uint64_t> ids) const {
  const auto of_parts = ids_of_parts(ids);
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    if (!of_parts[part].empty()) parts_[part]->expect_no_more(of_parts[part]);
  }
}

}  // namespace ratoon
