#include "agent/src/checkpoint/retention/pins.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <span>

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/retention/retention.h"
#include "base/core/utf8.h"

namespace ratoon::checkpoint {
namespace {

// Reads at most `bytes_max` bytes from the beginning of a file.
Result<std::string> read_first_bytes(const Disk& disk, const std::string& path, std::uint64_t bytes_max) {
  const auto file = disk.open(path);
  if (!file) return file.error();
  const auto size = (*file)->size();
  if (!size) return size.error();
  std::string bytes(std::min(*size, bytes_max), '\0');
  if (auto read = (*file)->read(0, std::as_writable_bytes(std::span(bytes))); !read) return read.error();
  return bytes;
}

// The file beside a pin of save_best() that contains the reason of another pin of the same checkpoint. A pin
// of save_best() is not replaced, because the checkpoint would have no pin between its removal and the new
// pin.
constexpr std::string_view kSecondPinEnd = ".second.json";

std::string second_pin_path(const CheckpointId& id) {
  constexpr std::string_view kEnd = ".json";
  std::string path = pin_path(id);
  path.resize(path.size() - kEnd.size());
  return path + std::string(kSecondPinEnd);
}

std::optional<CheckpointId> parse_pin_name(const std::string& name) {
  if (!name.ends_with(kSecondPinEnd)) return parse_manifest_name(name);
  return parse_manifest_name(name.substr(0, name.size() - kSecondPinEnd.size()) + ".json");
}

Result<void> remove_if_there(Disk& disk, const std::string& path) {
  auto removed = disk.remove(path);
  if (failed_with(removed, ErrorKind::kNotFound)) return {};
  return removed;
}

// Returns nothing if the file has no reason or cannot be read.
std::optional<std::string> read_reason(const Disk& disk, const std::string& path) {
  // Read one byte beyond the limit: it is the newline at the end, or shows whether a UTF-8 character ends at
  // the limit.
  auto text = read_first_bytes(disk, path, kPinReasonBytesMax + 1);
  while (text && text->ends_with('\n')) text->pop_back();
  if (!text || text->empty()) return std::nullopt;
  return printable(cut_text(*std::move(text), kPinReasonBytesMax));
}

bool is_pin_of_save_best(const Disk& disk, const CheckpointId& id) {
  const auto reason = read_reason(disk, pin_path(id));
  return reason && is_marked_as_best(*reason);
}

// Returns whether save_best() may have made the pin. The pin may have been removed meanwhile.
bool may_be_pin_of_save_best(const Disk& disk, const CheckpointId& id) {
  const auto reason = read_reason(disk, pin_path(id));
  return !reason || is_marked_as_best(*reason);
}

}  // namespace

std::string pin_path(const CheckpointId& id) {
  return manifest_path(id, kPins);
}

Result<bool> pin(Disk& disk, const CheckpointId& id, std::string_view why, std::string_view mark) {
  if (auto made = make_folders(disk, kPins, Durability::kSurvivesPowerCuts); !made) return made.error();
  const auto saved = save_durably(disk, pin_path(id), std::string(why) + '\n', mark);
  if (saved) return true;
  if (saved.error().kind() != ErrorKind::kAlreadyExists) return saved.error();
  if (!is_marked_as_best(why) && may_be_pin_of_save_best(disk, id)) {
    const auto added = save_durably(disk, second_pin_path(id), std::string(why) + '\n', mark);
    if (added) return true;
    if (added.error().kind() != ErrorKind::kAlreadyExists) return added.error();
  }
  if (auto synced = disk.sync_folder(kPins); !synced) return synced.error();
  return false;
}

Result<void> pin_if_requested(Disk& disk, const Manifest& manifest, std::string_view mark) {
  if (!manifest.run || manifest.run->keep.empty()) return {};
  const auto pinned = pin(disk, manifest.id, manifest.run->keep, mark);
  return pinned ? Result<void>() : pinned.error();
}

Result<void> unpin(Disk& disk, const CheckpointId& id) {
  if (auto removed = remove_if_there(disk, second_pin_path(id)); !removed) return removed;
  return remove_if_there(disk, pin_path(id));
}

void unpin_no_longer_best(Disk& disk, const Manifest& manifest) {
  if (!manifest.run || manifest.run->best.empty()) return;
  auto there = checkpoints_with_manifest_in(disk, {kManifests});
  const auto pinned = list_pinned(disk);
  if (!there || !pinned) return;
  there->insert(manifest.id);
  std::set<CheckpointId> kept;
  for (const KeptBest& best : find_kept_best(manifest.run->best, *there)) kept.insert(best.checkpoint.id);
  for (const CheckpointId& id : *pinned)
    if (id <= manifest.id && !kept.contains(id) && is_pin_of_save_best(disk, id))
      static_cast<void>(disk.remove(pin_path(id)));  // a second pin stays
}

Result<void> unpin_if_requested(Disk& disk, const Manifest& manifest) {
  if (!manifest.run || manifest.run->unpinned.empty()) return {};
  const auto there = checkpoints_with_manifest_in(disk, {kManifests});
  if (!there) return there.error();
  const auto pinned = list_pinned(disk);
  if (!pinned) return pinned.error();
  bool has_new_request = false;
  for (const UnpinnedStep& one : manifest.run->unpinned) {
    const auto earlier = there->lower_bound(one.since);
    if (earlier != there->end() && *earlier < manifest.id) continue;
    has_new_request = true;
    for (const CheckpointId& id : *pinned) {
      if (id.step.value() != one.step || id >= one.since) continue;
      auto removed = unpin(disk, id);
      if (!removed && !failed_with(removed, ErrorKind::kPermissionDenied)) return removed;
    }
  }
  if (!has_new_request) return {};
  // Sync the folder even if no pin exists now: a process that is lost by now may have removed the pins and
  // not synced the folder.
  auto synced = disk.sync_folder(kPins);
  if (failed_with(synced, ErrorKind::kNotFound)) return {};
  return synced;
}

Result<void> unpin_step(Disk& disk, Step step) {
  const auto pinned = list_pinned(disk);
  if (!pinned) return pinned.error();
  for (const CheckpointId& id : *pinned) {
    if (id.step != step) continue;
    if (auto removed = unpin(disk, id); !removed) return removed;
  }
  return {};
}

Result<bool> is_pinned(const Disk& disk, const CheckpointId& id) {
  for (const std::string& path : {pin_path(id), second_pin_path(id)}) {
    const auto file = disk.open(path);
    if (file) return true;
    if (file.error().kind() != ErrorKind::kNotFound) return file.error();
  }
  return false;
}

Result<std::set<CheckpointId>> list_pinned(const Disk& disk) {
  const auto entries = list_if_there(disk, kPins);
  if (!entries) return entries.error();
  std::set<CheckpointId> ids;
  for (const DiskEntry& entry : *entries) {
    if (const auto id = parse_pin_name(entry.name)) ids.insert(*id);
  }
  return ids;
}

Result<std::vector<Pin>> read_pins(const Disk& disk) {
  const auto pinned = list_pinned(disk);
  if (!pinned) return pinned.error();
  std::vector<Pin> pins;
  for (const CheckpointId& id : *pinned | std::views::reverse) pins.push_back({id, pin_reason(disk, id)});
  return pins;
}

std::string pin_reason(const Disk& disk, const CheckpointId& id) {
  for (const std::string& path : {second_pin_path(id), pin_path(id)})
    if (auto reason = read_reason(disk, path)) return *std::move(reason);
  return "no reason is noted";
}

}  // namespace ratoon::checkpoint
