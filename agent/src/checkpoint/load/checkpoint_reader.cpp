#include "agent/src/checkpoint/load/checkpoint_reader.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "agent/src/checkpoint/load/run_in_parallel.h"
#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/checkpoint/pack/header/types.h"

namespace ratoon::checkpoint {

CheckpointReader::CheckpointReader(std::shared_ptr<const Disk> disk, std::vector<NamedPack> packs, Rank rank,
                                   const ReadOptions& options)
    : disk_(std::move(disk)),
      packs_(std::move(packs)),
      rank_(rank),
      options_(options),
      own_(rank.value() % packs_.size()),
      opened_(packs_.size()) {}

Result<CheckpointReader> CheckpointReader::open(std::shared_ptr<const Disk> disk,
                                                std::vector<NamedPack> packs, Rank rank,
                                                const ReadOptions& options) {
  if (packs.empty()) throw std::invalid_argument("CheckpointReader: expected at least one pack");
  CheckpointReader reader(std::move(disk), std::move(packs), rank, options);
  if (auto opened = reader.open_one(reader.own_); !opened) return opened.error();
  if (auto indexed = reader.index_own(); !indexed) return indexed.error();
  return reader;
}

Result<void> CheckpointReader::open_one(std::size_t pack) {
  if (opened_[pack]) return {};
  auto opened = read_pack_header(*disk_, packs_[pack].path, packs_[pack].record);
  if (!opened) return opened.error();
  opened_[pack] = *std::move(opened);
  return {};
}

Result<void> CheckpointReader::index_own() {
  const KnownPack& own = *opened_[own_];
  auto index =
      PartIndex::build({{.name = own.shown, .layout = &own.header.layout, .hashes = own.header.hashes}});
  if (!index) return index.error();
  index_ = *std::move(index);
  indexed_ = {own_};
  return {};
}

Result<void> CheckpointReader::index_all() {
  if (indexed_.size() == packs_.size()) return {};
  const auto opened = run_in_parallel(packs_.size(), options_.thread_count(),
                                      [this](std::size_t pack, std::size_t) { return open_one(pack); });
  if (!opened) return opened;
  std::vector<IndexedPack> packs;
  for (std::size_t i = 0; i < packs_.size(); ++i) {
    packs.push_back({.name = opened_[i]->shown,
                     .layout = &opened_[i]->header.layout,
                     .hashes = opened_[i]->header.hashes,
                     .has_only_boxes = i != own_});
  }
  auto index = PartIndex::build(std::move(packs));
  if (!index) return index.error();
  index_ = *std::move(index);
  indexed_.resize(packs_.size());
  std::iota(indexed_.begin(), indexed_.end(), std::size_t{0});
  return {};
}

std::vector<Rank> CheckpointReader::ranks_taken_over(std::uint32_t world_size) const {
  std::vector<Rank> gone;
  if (world_size == 0) return gone;
  for (std::uint64_t rank = std::uint64_t{rank_.value()} + world_size; rank < packs_.size();
       rank += world_size)
    gone.emplace_back(static_cast<std::uint32_t>(rank));
  return gone;
}

std::span<const PackedTensor> CheckpointReader::own() const {
  return opened_[own_]->header.layout.tensors;
}

Result<std::vector<std::string>> CheckpointReader::names() {
  if (auto indexed = index_all(); !indexed) return indexed.error();
  std::vector<std::string> names;
  for (const IndexedTensor& tensor : index_->tensors()) names.emplace_back(tensor.name);
  return names;
}

Result<const IndexedTensor*> CheckpointReader::look_up(std::string_view name) {
  const IndexedTensor* found = index_->find(name);
  const bool is_own = found != nullptr && std::ranges::none_of(found->parts, [&](const TensorPart& part) {
                        return index_->at(part).box.has_value();
                      });
  if (is_own) return found;
  if (auto indexed = index_all(); !indexed) return indexed.error();
  return index_->find(name);
}

Result<std::optional<CheckpointReader::Form>> CheckpointReader::find(std::string_view name) {
  const auto found = look_up(name);
  if (!found) return found.error();
  if (*found == nullptr) return std::optional<Form>();
  return std::optional(Form{.type = (*found)->type, .shape = *(*found)->whole_shape});
}

Result<CheckpointReader::Amount> CheckpointReader::load(std::span<const TensorSpec> wanted,
                                                        std::span<const std::span<std::byte>> into) {
  if (wanted.size() != into.size())
    throw std::invalid_argument("CheckpointReader::load: expected one destination for each wanted tensor");
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (count_bytes(wanted[i].type, wanted[i].shape) != into[i].size())
      throw std::invalid_argument("CheckpointReader::load: the destination of tensor " +
                                  in_quotes(wanted[i].name) + " has another size than the tensor");
    if (auto found = look_up(wanted[i].name); !found) return found.error();
  }
  const auto plan = plan_reads(*index_, wanted, indexed_.size() == 1 ? 0 : rank_.value());
  if (!plan) return plan.error();
  std::vector<PlannedPack> packs;
  for (const std::size_t pack : indexed_)
    packs.push_back({.path = packs_[pack].path, .header = &opened_[pack]->header});
  std::uint64_t bytes_there = 0;
  for (const NamedPack& pack : packs_) bytes_there += pack.record.size_bytes - pack.record.header_bytes;
  const ReadMode way = choose_read_mode(plan->bytes_wanted, bytes_there, options_.readers);
  if (auto carried = execute_plan(*disk_, packs, *plan, into, way, options_); !carried)
    return carried.error();
  return Amount{.bytes_wanted = plan->bytes_wanted, .bytes_read = plan->bytes_read};
}

}  // namespace ratoon::checkpoint
