#include "agent/src/checkpoint/run_store.h"

#include <array>
#include <cstdio>

#include <sys/random.h>
#include <unistd.h>

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/disk/real_disk.h"

namespace ratoon::checkpoint {
namespace {

std::string own_mark() {
  std::uint64_t salt = 0;
  if (::getrandom(&salt, sizeof salt, 0) != sizeof salt) salt = static_cast<std::uint64_t>(::getpid());
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(salt));
  return text.data();
}

}  // namespace

Result<RunStore> RunStore::open(const std::filesystem::path& folder) {
  auto disk = RealDisk::open_folder(folder);
  if (!disk) return disk.error();
  return open(std::shared_ptr<Disk>(*std::move(disk)), own_mark());
}

Result<RunStore> RunStore::open(std::shared_ptr<Disk> disk, std::string mark) {
  if (auto made = make_folders(*disk, kManifests, Lasts::kPowerCuts); !made) return made.error();
  return RunStore(std::move(disk), std::move(mark));
}

Result<LoadedTensors> RunStore::load(const ResumePoint& point, Rank rank) const {
  const CheckpointId id{.attempt = point.attempt, .step = point.step};
  const auto sealed = read_manifest(*disk_, id);
  if (!sealed) return sealed.error();
  if (sealed->digest != point.digest) {
    return Error(ErrorKind::kNotFound, disk_->shown(manifest_path(id)) +
                                           " is not the manifest that was chosen (" + point.digest +
                                           " expected, " + sealed->digest + " found)");
  }
  // It is reported as durable from now on; whoever committed it may have died before its name was.
  if (auto synced = disk_->sync_folder(kManifests); !synced) return synced.error();
  const auto& packs = sealed->manifest.packs;
  const PackRecord& record = packs[rank.value() % packs.size()];
  const auto pack = PackReader::open(*disk_, pack_path(id, record.rank), record);
  if (!pack) return pack.error();
  return pack->read_all();
}

Result<void> RunStore::verify(const CheckpointId& id) const {
  const auto sealed = read_manifest(*disk_, id);
  if (!sealed) return sealed.error();
  for (const auto& record : sealed->manifest.packs) {
    const auto pack = PackReader::open(*disk_, pack_path(id, record.rank), record);
    if (!pack) return pack.error();
    if (auto verified = pack->verify(); !verified) return verified;
  }
  return {};
}

Result<void> RunStore::retire_old(const KeepRules& rules, Attempt own) const {
  const auto found = inventory();
  if (!found) return found.error();
  std::vector<CheckpointId> ids;
  for (const auto& entry : found->complete) ids.push_back(id_of(entry));
  const auto retired = choose_retired(ids, rules, own);
  if (!retired.empty()) {
    const auto verified = verify(ids.front());
    const bool is_bad = !verified && verified.error().kind() == ErrorKind::kCorrupted;
    if (is_bad) static_cast<void>(set_aside(ids.front(), verified.error().message()));
    if (!verified) return verified;
  }
  for (const CheckpointId& id : retired) {
    if (auto removed = remove_checkpoint(*disk_, id); !removed)
      return removed.error().with_context("removing the old checkpoint of step " +
                                          std::to_string(id.step.value()));
  }
  const bool has_committed = !ids.empty() && ids.front().attempt == own;
  return has_committed ? sweep_uncommitted(*disk_, own) : Result<void>();
}

}  // namespace ratoon::checkpoint
