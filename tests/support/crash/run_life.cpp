#include "tests/support/crash/run_life.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace ratoon::test {

using namespace checkpoint;

LoadedTensors states_of(const CheckpointId& id, std::uint32_t rank, std::size_t weight_bytes) {
  const std::string mark =
      std::to_string(id.attempt.value()) + "/" + std::to_string(id.step.value()) + "/" + std::to_string(rank);
  std::string weights(weight_bytes + id.step.value() * 8, static_cast<char>('a' + rank));
  weights.replace(0, mark.size(), mark);
  return {{"sum", {.shape = {mark.size()}, .bytes = mark}},
          {"weights",
           {.type = ElementType::kFloat32, .shape = {weights.size() / 4}, .bytes = std::move(weights)}}};
}

std::vector<TensorView> views_of(const LoadedTensors& tensors) {
  std::vector<TensorView> views;
  for (const auto& [name, tensor] : tensors)
    views.push_back({.name = name,
                     .type = tensor.type,
                     .shape = tensor.shape,
                     .bytes = std::as_bytes(std::span(tensor.bytes)),
                     .box = tensor.box});
  return views;
}

std::string text_of(const CheckpointId& id) {
  return std::to_string(id.attempt.value()) + " " + std::to_string(id.step.value());
}

CheckpointId parse_id(const std::string& text) {
  char* rest = nullptr;
  const std::uint64_t attempt = std::strtoull(text.c_str(), &rest, 10);
  return {.attempt = Attempt(attempt), .step = Step(std::strtoull(rest, nullptr, 10))};
}

Result<void> save_world(const RunStore& store, const WorldSave& save) {
  for (std::uint32_t rank = 0; rank < save.ranks; ++rank) {
    const LoadedTensors states = states_of(save.id, rank, save.weight_bytes);
    auto views = views_of(states);
    for (TensorView& view : views) view.is_saved_in_parts = rank < save.known.size();
    const auto known = rank < save.known.size() ? save.known[rank] : CommittedParts();
    if (auto written = store.write_pack(save.id, Rank(rank), views, known); !written) return written;
  }
  const auto committed = store.try_commit(save.id, save.ranks);
  if (!committed) return committed.error();
  if (!*committed) return Error(ErrorKind::kInvalid, "receipts are missing");
  save.acknowledge();
  return store.retire_old(save.rules, save.id.attempt);
}

namespace {

// Returns, for each rank, the parts of the newest checkpoint, as a process knows them after it has resumed.
std::vector<CommittedParts> known_parts(const Disk& disk, const RunStore& store, std::uint32_t ranks) {
  constexpr PartSizes kSmallParts{.tensor_bytes_min = 256, .part_bytes_min = 64};
  std::vector<CommittedParts> known(ranks, CommittedParts({}, {}, kSmallParts));
  const auto inventory = store.inventory();
  if (!inventory || inventory->complete.empty()) return known;
  const CheckpointId newest = id_of(inventory->complete.front());
  const auto sealed = read_manifest(disk, newest);
  if (!sealed) return known;
  const auto& packs = sealed->manifest.packs;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    known[rank] = CommittedParts(newest, packs[rank % packs.size()].tensors_in_parts, kSmallParts);
  return known;
}

}  // namespace

Result<void> Life::save(const CheckpointId& id) {
  const auto store = RunStore::open(disk, "mark");
  if (!store) return store.error();
  WorldSave world{.id = id, .ranks = ranks, .rules = rules, .weight_bytes = weight_bytes};
  world.acknowledge = [&] { disk->acknowledge(text_of(id)); };
  if (is_in_parts) world.known = known_parts(*disk, *store, ranks);
  return save_world(*store, world);
}

std::optional<std::string> recover(const RunStore& store, std::optional<CheckpointId>& recovered,
                                   std::size_t weight_bytes) {
  const auto inventory = store.inventory();
  if (!inventory) return "no inventory: " + inventory.error().message();
  for (const InventoryEntry& entry : inventory->complete) {
    const CheckpointId id = id_of(entry);
    const auto verified = store.verify(id);
    if (!verified && verified.error().kind() != ErrorKind::kCorrupted &&
        verified.error().kind() != ErrorKind::kNotFound)
      return "cannot be read: " + verified.error().message();
    if (!verified) {
      if (auto aside = store.quarantine_checkpoint(id, verified.error().message()); !aside)
        return "cannot set aside: " + aside.error().message();
      continue;
    }
    const ResumePoint point{.attempt = id.attempt, .step = id.step, .digest = entry.digest};
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const auto loaded = store.load(point, Rank(rank));
      if (!loaded) return "verified, but cannot be loaded: " + loaded.error().message();
      if (*loaded != states_of(id, rank, weight_bytes)) return "wrong bytes accepted for " + text_of(id);
    }
    recovered = id;
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::string> find_damage(const Inventory& inventory) {
  for (const InventoryEntry& entry : inventory.damaged) {
    const bool is_late = entry.digest == kMissingPackDigest && !inventory.complete.empty() &&
                         entry.attempt < inventory.complete.front().attempt;
    if (!is_late) return text_of(id_of(entry)) + " is " + entry.digest;
  }
  return std::nullopt;
}

std::optional<std::string> find_litter(const RunStore& store, const std::vector<std::string>& paths) {
  const auto inventory = store.inventory();
  std::vector<std::string> known;
  const auto note = [&](const InventoryEntry& entry) {
    known.push_back(packs_folder(id_of(entry)));
    known.push_back(receipts_folder(id_of(entry)));
    known.push_back(manifest_path(id_of(entry)));
  };
  std::for_each(inventory->complete.begin(), inventory->complete.end(), note);
  std::for_each(inventory->damaged.begin(), inventory->damaged.end(), note);
  for (const std::string& path : paths) {
    const bool is_known = std::any_of(known.begin(), known.end(),
                                      [&](const std::string& start) { return path.starts_with(start); });
    if (path.starts_with("packs/committed.")) continue;
    const bool is_aside = path.starts_with("quarantine/") && !path.ends_with(".tmp");
    if (!is_known && !is_aside) return path;
  }
  return std::nullopt;
}

}  // namespace ratoon::test
