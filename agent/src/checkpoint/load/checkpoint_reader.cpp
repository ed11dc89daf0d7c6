#include "agent/src/checkpoint/load/checkpoint_reader.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "agent/src/checkpoint/load/run_in_parallel.h"
#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/checkpoint/parts/part_files.h"

namespace ratoon::checkpoint {

CheckpointReader::CheckpointReader(std::shared_ptr<const Disk> disk, std::vector<NamedPack> packs, Rank rank,
                                   const ReadOptions& options)
    : disk_(std::move(disk)),
      packs_(std::move(packs)),
      rank_(rank),
      options_(options),
      own_pack_(rank.value() % packs_.size()),
      opened_packs_(packs_.size()) {}

Result<CheckpointReader> CheckpointReader::open(std::shared_ptr<const Disk> disk,
                                                std::vector<NamedPack> packs, Rank rank,
                                                const ReadOptions& options) {
  if (packs.empty()) throw std::invalid_argument("CheckpointReader: expected at least one pack");
  CheckpointReader reader(std::move(disk), std::move(packs), rank, options);
  if (auto opened = reader.open_pack(reader.own_pack_); !opened) return opened.error();
  const PackLayout& own = reader.opened_packs_[reader.own_pack_]->header.layout;
  reader.own_tensors_ = own.tensors;
  for (const TensorInParts& tensor : reader.own_pack_record().tensors_in_parts)
    reader.own_tensors_.push_back(
        {.name = tensor.name, .type = tensor.type, .shape = tensor.shape, .box = {}});
  reader.are_all_packs_open_ = reader.packs_.size() == 1;
  if (auto indexed = reader.index_opened_packs(); !indexed) return indexed.error();
  return reader;
}

Result<void> CheckpointReader::open_pack(std::size_t pack) {
  if (opened_packs_[pack]) return {};
  auto opened = read_pack_header(*disk_, packs_[pack].path, packs_[pack].record);
  if (!opened) return opened.error();
  opened_packs_[pack] = *std::move(opened);
  return {};
}

Result<void> CheckpointReader::open_parts() {
  if (!opened_parts_.empty()) return {};
  std::vector<std::pair<const TensorInParts*, std::size_t>> wanted;
  for (const TensorInParts& tensor : own_pack_record().tensors_in_parts)
    for (std::size_t part = 0; part < tensor.parts.size(); ++part) wanted.emplace_back(&tensor, part);
  std::vector<std::optional<OpenedPart>> parts(wanted.size());
  const auto open_one = [&](std::size_t i, std::size_t) -> Result<void> {
    const auto [tensor, part] = wanted[i];
    auto opened = PackReader::open_part(*disk_, *tensor, part, own_pack_record().owner);
    if (!opened) return opened.error();
    parts[i] = OpenedPart{.path = path_of_part(tensor->parts[part]), .pack = (*std::move(opened)).close()};
    return {};
  };
  if (auto opened = run_in_parallel(wanted.size(), options_.thread_count(), open_one); !opened) return opened;
  std::vector<OpenedPart> opened_parts;
  for (auto& part : parts) opened_parts.push_back(*std::move(part));
  opened_parts_ = std::move(opened_parts);
  return index_opened_packs();
}

Result<void> CheckpointReader::open_all() {
  if (are_all_packs_open_) return {};
  const auto opened = run_in_parallel(packs_.size(), options_.thread_count(),
                                      [this](std::size_t pack, std::size_t) { return open_pack(pack); });
  if (!opened) return opened;
  are_all_packs_open_ = true;
  return index_opened_packs();
}

// Builds the index from the rank's own pack and the part files that are open. After open_all(), the index
// also contains the packs of the other ranks.
Result<void> CheckpointReader::index_opened_packs() {
  std::vector<IndexedPack> packs;
  indexed_packs_.clear();
  const auto add = [&](const std::string& path, const NamedPackHeader& pack, bool has_only_boxes) {
    packs.push_back({.name = pack.shown,
                     .layout = &pack.header.layout,
                     .hashes = pack.header.hashes,
                     .skips_tensors_without_box = has_only_boxes});
    indexed_packs_.push_back({.path = path, .header = &pack.header});
  };
  for (std::size_t i = 0; i < packs_.size(); ++i)
    if (are_all_packs_open_ || i == own_pack_) add(packs_[i].path, *opened_packs_[i], i != own_pack_);
  for (const OpenedPart& part : opened_parts_) add(part.path, part.pack, true);
  auto index = PartIndex::build(std::move(packs));
  if (!index) return index.error();
  index_ = *std::move(index);
  return {};
}

const TensorInParts* CheckpointReader::find_in_parts(std::string_view name) const {
  const auto& tensors = own_pack_record().tensors_in_parts;
  const auto found = std::ranges::find(tensors, name, &TensorInParts::name);
  return found == tensors.end() ? nullptr : &*found;
}

std::vector<Rank> CheckpointReader::ranks_taken_over(std::uint32_t world_size) const {
  std::vector<Rank> gone;
  if (world_size == 0) return gone;
  for (std::uint64_t rank = std::uint64_t{rank_.value()} + world_size; rank < packs_.size();
       rank += world_size)
    gone.emplace_back(static_cast<std::uint32_t>(rank));
  return gone;
}

Result<std::vector<std::string>> CheckpointReader::names() {
  if (auto opened = open_all(); !opened) return opened.error();
  std::vector<std::string> names;
  for (const IndexedTensor& tensor : index_->tensors()) names.emplace_back(tensor.name);
  for (const TensorInParts& tensor : own_pack_record().tensors_in_parts)
    if (index_->find(tensor.name) == nullptr) names.push_back(tensor.name);
  return names;
}

Result<const IndexedTensor*> CheckpointReader::find_in_index(std::string_view name) {
  if (find_in_parts(name) != nullptr) {
    if (auto opened = open_parts(); !opened) return opened.error();
    return index_->find(name);
  }
  const IndexedTensor* found = index_->find(name);
  const bool is_own = found != nullptr && std::ranges::none_of(found->parts, [&](const TensorPart& part) {
                        return index_->at(part).box.has_value();
                      });
  if (is_own) return found;
  if (auto opened = open_all(); !opened) return opened.error();
  return index_->find(name);
}

Result<std::optional<CheckpointReader::TensorForm>> CheckpointReader::find(std::string_view name) {
  if (const TensorInParts* const tensor = find_in_parts(name))
    return std::optional(TensorForm{.type = tensor->type, .shape = tensor->shape});
  const auto found = find_in_index(name);
  if (!found) return found.error();
  if (*found == nullptr) return std::optional<TensorForm>();
  return std::optional(TensorForm{.type = (*found)->type, .shape = *(*found)->whole_shape});
}

Result<CheckpointReader::LoadedBytes> CheckpointReader::load(std::span<const TensorSpec> wanted,
                                                             std::span<const std::span<std::byte>> into) {
  if (wanted.size() != into.size())
    throw std::invalid_argument("CheckpointReader::load: expected one destination for each wanted tensor");
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (count_bytes(wanted[i].type, wanted[i].shape) != into[i].size())
      throw std::invalid_argument("CheckpointReader::load: the destination of tensor " +
                                  in_quotes(wanted[i].name) + " has another size than the tensor");
    if (auto found = find_in_index(wanted[i].name); !found) return found.error();
  }
  const auto plan = plan_reads(*index_, wanted, are_all_packs_open_ ? rank_.value() : 0);
  if (!plan) return plan.error();
  std::uint64_t bytes_there = 0;
  for (const OpenedPart& part : opened_parts_) bytes_there += part.pack.header.layout.data_bytes;
  for (const NamedPack& pack : packs_) bytes_there += pack.record.size_bytes - pack.record.header_bytes;
  const ReadMode way = choose_read_mode(plan->bytes_wanted, bytes_there, options_.readers);
  if (auto carried = execute_plan(*disk_, indexed_packs_, *plan, into, way, options_); !carried)
    return carried.error();
  return LoadedBytes{.bytes_wanted = plan->bytes_wanted, .bytes_read = plan->bytes_read};
}

}  // namespace ratoon::checkpoint
