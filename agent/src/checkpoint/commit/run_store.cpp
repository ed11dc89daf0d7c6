#include "agent/src/checkpoint/commit/run_store.h"

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "agent/src/checkpoint/retention/pins.h"
#include "agent/src/checkpoint/retention/removal.h"
#include "base/core/random_name.h"

namespace ratoon::checkpoint {
namespace {

bool has_left(const Disk& disk, const CheckpointId& id) {
  const auto manifest = disk.open(manifest_path(id));
  return !manifest && manifest.error().kind() == ErrorKind::kNotFound;
}

}  // namespace

Result<RunStore> RunStore::open(const std::filesystem::path& folder) {
  auto disk = RealDisk::open_folder(folder);
  if (!disk) return disk.error();
  return open(std::shared_ptr<Disk>(*std::move(disk)), draw_name());
}

Result<RunStore> RunStore::open(std::shared_ptr<Disk> disk, std::string mark, std::string owner) {
  if (auto made = make_folders(*disk, kManifests, Durability::kPowerCuts); !made) return made.error();
  return RunStore(std::move(disk), std::move(mark), std::move(owner));
}

Result<Manifest> RunStore::manifest_of(const ResumePoint& point) const {
  const CheckpointId id{.attempt = point.attempt, .step = point.step};
  auto sealed = read_manifest(*disk_, id);
  if (!sealed) return sealed.error();
  if (sealed->digest != point.digest) {
    return Error(ErrorKind::kNotFound, disk_->shown(manifest_path(id)) +
                                           " is not the manifest that was chosen (" + point.digest +
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
  if (reader) reader->set_run(manifest->run);
  return reader;
}

Result<LoadedTensors> RunStore::load(const ResumePoint& point, Rank rank) const {
  const auto manifest = manifest_of(point);
  if (!manifest) return manifest.error();
  const auto& packs = manifest->packs;
  const PackRecord& record = packs[rank.value() % packs.size()];
  const auto pack = PackReader::open(*disk_, pack_path(manifest->id, record.rank), record);
  if (!pack) return pack.error();
  return pack->read_all();
}

Result<void> RunStore::verify(const CheckpointId& id, ReadBack read_back) const {
  const auto sealed = read_manifest(*disk_, id);
  if (!sealed) return sealed.error();
  for (const auto& record : sealed->manifest.packs) {
    const auto pack = PackReader::open(*disk_, pack_path(id, record.rank), record);
    if (!pack) return pack.error();
    if (read_back == ReadBack::kHeaders) continue;
    if (auto verified = pack->verify(); !verified) return verified;
  }
  return {};
}

Result<std::vector<KeptCheckpoint>> RunStore::kept(const KeepRules& rules, const Copies& copies) const {
  const auto found = inventory();
  if (!found) return found.error();
  const auto pinned = pinned_in(*disk_);
  if (!pinned) return pinned.error();
  std::vector<KeptCheckpoint> all;
  for (const auto& entry : found->complete) {
    const CheckpointId id = id_of(entry);
    all.push_back({.id = id,
                   .is_pinned = pinned->contains(id) || copies.under_way.contains(id),
                   .is_in_store = copies.in_store.contains(id)});
    if (rules.bytes_max == kKeepAll) continue;
    const auto sealed = read_manifest(*disk_, id);
    if (!sealed) return sealed.error();
    for (const PackRecord& pack : sealed->manifest.packs) all.back().size_bytes += pack.size_bytes;
  }
  return all;
}

Result<void> RunStore::retire_old(const KeepRules& rules, Attempt own, const Copies& copies,
                                  ReadBack read_back) const {
  const auto all = kept(rules, copies);
  if (!all) return all.error();
  const auto retired = choose_retired(*all, rules, own);
  // The run relies on the newest checkpoint when older ones are removed, so it is verified first. If the
  // rules remove the newest checkpoint itself, the run relies on its copy in the object store.
  const bool is_newest_kept = !retired.empty() && retired.front() != all->front().id;
  if (is_newest_kept) {
    const CheckpointId& newest = all->front().id;
    const auto verified = verify(newest, read_back);
    // A removal deletes the manifest before the packs. If the manifest is gone, another thread removed this
    // checkpoint during the check, because an object store has a copy. The next call of retire_old() then
    // checks the checkpoint that is the newest at that time.
    if (!verified && has_left(*disk_, newest)) return {};
    const bool is_bad = !verified && verified.error().kind() == ErrorKind::kCorrupted;
    if (is_bad) static_cast<void>(set_aside(newest, verified.error().message()));
    if (!verified) return verified;
  }
  for (const CheckpointId& id : retired) {
    if (auto removed = retire_checkpoint(*disk_, id, mark_); !removed)
      return removed.error().with_context("removing the old checkpoint of step " +
                                          std::to_string(id.step.value()));
  }
  const bool has_committed = !all->empty() && all->front().id.attempt == own;
  return has_committed ? sweep_uncommitted(*disk_, all->front().id) : Result<void>();
}

}  // namespace ratoon::checkpoint
