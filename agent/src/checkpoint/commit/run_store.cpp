#include "agent/src/checkpoint/commit/run_store.h"

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/checkpoint/parts/part_files.h"
#include "agent/src/checkpoint/retention/pins.h"
#include "agent/src/checkpoint/retention/removal.h"
#include "base/core/random_name.h"

namespace ratoon::checkpoint {

Result<RunStore> RunStore::open(const std::filesystem::path& folder) {
  auto disk = RealDisk::open_folder(folder);
  if (!disk) return disk.error();
  return open(std::shared_ptr<Disk>(*std::move(disk)), random_hex_name());
}

Result<RunStore> RunStore::open(std::shared_ptr<Disk> disk, std::string mark, std::string owner) {
  if (auto made = make_folders(*disk, kManifests, Durability::kSurvivesPowerCuts); !made) return made.error();
  return RunStore(std::move(disk), std::move(mark), std::move(owner));
}

Result<Manifest> RunStore::manifest_of(const ResumePoint& point) const {
  const CheckpointId id{.attempt = point.attempt, .step = point.step};
  auto sealed = read_manifest(*disk_, id);
  if (!sealed) return sealed.error();
  if (sealed->digest != point.digest) {
    return Error(ErrorKind::kNotFound, disk_->shown(manifest_path(id)) +
                                           " is not the chosen manifest (digest " + point.digest +
                                           " expected, " + sealed->digest + " found)");
  }
  // Sync the folder of the manifest, because the caller reports the checkpoint as durable: the process that
  // committed the checkpoint may have died before it synced this folder.
  if (auto synced = disk_->sync_folder(kManifests); !synced) return synced.error();
  return std::move(sealed->manifest);
}

Result<CheckpointReader> RunStore::read(const ResumePoint& point, Rank rank,
                                        const ReadOptions& options) const {
  auto manifest = manifest_of(point);
  if (!manifest) return manifest.error();
  std::vector<NamedPack> packs;
  for (auto& record : manifest->packs) {
    std::string path = pack_path(manifest->id, record.rank);
    packs.push_back({.path = std::move(path), .record = std::move(record)});
  }
  auto reader = CheckpointReader::open(disk_, std::move(packs), rank, options);
  if (reader) reader->set_run_record(manifest->run);
  return reader;
}

Result<LoadedTensors> RunStore::load(const ResumePoint& point, Rank rank) const {
  const auto manifest = manifest_of(point);
  if (!manifest) return manifest.error();
  const auto& packs = manifest->packs;
  const PackRecord& record = packs[rank.value() % packs.size()];
  const auto pack = PackReader::open(*disk_, pack_path(manifest->id, record.rank), record);
  if (!pack) return pack.error();
  auto tensors = pack->read_all();
  if (!tensors || record.tensors_in_parts.empty()) return tensors;
  auto reader = CheckpointReader::open(
      disk_, {{.path = pack_path(manifest->id, record.rank), .record = record}}, Rank(0));
  if (!reader) return reader.error();
  for (const TensorInParts& tensor : record.tensors_in_parts) {
    LoadedTensor loaded{.type = tensor.type, .shape = tensor.shape, .box = {}};
    loaded.bytes.resize(count_bytes(tensor.type, tensor.shape).value_or(0));
    const TensorSpec wanted{.name = tensor.name, .type = tensor.type, .shape = tensor.shape, .box = {}};
    const std::span<std::byte> into = std::as_writable_bytes(std::span(loaded.bytes));
    if (const auto read = reader->load(std::span(&wanted, 1), std::span(&into, 1)); !read)
      return read.error();
    tensors->insert_or_assign(tensor.name, std::move(loaded));
  }
  return tensors;
}

Result<void> RunStore::verify(const CheckpointId& id, ReadBackScope read_back) const {
  std::set<std::string> verified_parts;
  return verify_except(id, read_back, verified_parts);
}

Result<void> RunStore::verify_except(const CheckpointId& id, ReadBackScope read_back,
                                     std::set<std::string>& verified_parts) const {
  const auto sealed = read_manifest(*disk_, id);
  if (!sealed) return sealed.error();
  for (const auto& record : sealed->manifest.packs) {
    const auto pack = PackReader::open(*disk_, pack_path(id, record.rank), record);
    if (!pack) return pack.error();
    if (read_back == ReadBackScope::kAllBytes)
      if (auto verified = pack->verify(); !verified) return verified;
    if (auto verified = verify_parts(*disk_, record, read_back == ReadBackScope::kAllBytes, verified_parts);
        !verified)
      return verified;
  }
  return {};
}

Result<void> RunStore::read_back_newest(const CheckpointId& newest, const CheckpointId& older,
                                        ReadBackScope read_back) const {
  if (read_back == ReadBackScope::kHeaders) {
    auto known = parts_of(older);
    return verify_except(newest, read_back, known);
  }
  auto verified = verify_except(newest, read_back, read_back_parts_);
  const auto needed = parts_of(newest);
  std::erase_if(read_back_parts_, [&](const std::string& part) { return !needed.contains(part); });
  return verified;
}

std::set<std::string> RunStore::parts_of(const CheckpointId& id) const {
  std::set<std::string> parts;
  const auto sealed = read_manifest(*disk_, id);
  if (!sealed) return parts;
  for (const PackRecord& pack : sealed->manifest.packs) static_cast<void>(count_part_bytes(pack, parts));
  return parts;
}

Result<std::vector<KeptCheckpoint>> RunStore::list_kept_checkpoints(const KeepRules& rules,
                                                                    const StoreCopies& copies) const {
  const auto found = inventory();
  if (!found) return found.error();
  const auto pinned = list_pinned(*disk_);
  if (!pinned) return pinned.error();
  std::vector<KeptCheckpoint> all;
  std::set<std::string> counted_parts;  // a part counts for the newest checkpoint that needs it
  for (const auto& entry : found->complete) {
    const CheckpointId id = id_of(entry);
    all.push_back({.id = id,
                   .is_pinned = pinned->contains(id) || copies.being_copied.contains(id),
                   .is_in_store = copies.in_store.contains(id)});
    if (rules.bytes_max == kKeepAll) continue;
    const auto sealed = read_manifest(*disk_, id);
    if (!sealed) return sealed.error();
    for (const PackRecord& pack : sealed->manifest.packs)
      all.back().size_bytes += pack.size_bytes + count_part_bytes(pack, counted_parts);
  }
  return all;
}

Result<void> RunStore::retire_old(const KeepRules& rules, Attempt own, const StoreCopies& copies,
                                  ReadBackScope read_back) const {
  const auto all = list_kept_checkpoints(rules, copies);
  if (!all) return all.error();
  const auto retired = choose_retired(*all, rules, own);
  // After the removal the run relies on its newest checkpoint, so verify the newest checkpoint first. If the
  // retention rules remove the newest checkpoint, the run relies on its copy in the object store.
  const bool is_newest_kept = !retired.empty() && retired.front() != all->front().id;
  if (is_newest_kept) {
    const CheckpointId& newest = all->front().id;
    const auto verified = read_back_newest(newest, (*all)[1].id, read_back);
    // A removal deletes the manifest before the packs. If the manifest is gone, another thread has removed
    // this checkpoint during the check. It may do so once an object store has a copy. The next call of
    // retire_old() checks the checkpoint that is the newest at the time of that call.
    if (!verified && is_file_missing(*disk_, manifest_path(newest))) return {};
    const bool is_bad = !verified && verified.error().kind() == ErrorKind::kCorrupted;
    if (is_bad) static_cast<void>(quarantine_checkpoint(newest, verified.error().message()));
    if (!verified) return verified;
  }
  for (const CheckpointId& id : retired) {
    if (auto removed = retire_checkpoint(*disk_, id, temporary_name_mark_); !removed)
      return removed.error().with_context("removing the old checkpoint of step " +
                                          std::to_string(id.step.value()));
  }
  const bool has_committed = !all->empty() && all->front().id.attempt == own;
  return has_committed ? sweep_uncommitted(*disk_, all->front().id) : Result<void>();
}

}  // namespace ratoon::checkpoint
