#include "agent/src/checkpoint/pins.h"

#include <string>

#include "agent/src/checkpoint/disk/durable.h"

namespace ratoon::checkpoint {
namespace {

constexpr const char* kPins = "pins";

std::string pin_path(const CheckpointId& id) {
  return kPins + manifest_path(id).substr(std::string_view(kManifests).size());
}

}  // namespace

Result<void> pin(Disk& disk, const CheckpointId& id, std::string_view why, std::string_view mark) {
  if (auto made = make_folders(disk, kPins, Lasts::kPowerCuts); !made) return made;
  std::string text(why);
  text += '\n';
  auto saved = save_durably(disk, pin_path(id), text, mark);
  if (!saved && saved.error().kind() == ErrorKind::kAlreadyExists) return disk.sync_folder(kPins);
  return saved;
}

Result<void> pin_as_wished(Disk& disk, const Manifest& manifest, std::string_view mark) {
  if (!manifest.run || manifest.run->keep.empty()) return {};
  return pin(disk, manifest.id, manifest.run->keep, mark);
}

Result<void> unpin(Disk& disk, const CheckpointId& id) {
  auto removed = disk.remove(pin_path(id));
  if (!removed && removed.error().kind() == ErrorKind::kNotFound) return {};
  return removed;
}

Result<std::set<CheckpointId>> pinned_in(const Disk& disk) {
  const auto entries = list_if_there(disk, kPins);
  if (!entries) return entries.error();
  std::set<CheckpointId> ids;
  for (const DiskEntry& entry : *entries) {
    if (const auto id = parse_manifest_name(entry.name)) ids.insert(*id);
  }
  return ids;
}

}  // namespace ratoon::checkpoint
