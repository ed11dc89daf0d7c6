#include "agent/src/checkpoint/parts/part_files.h"

#include <algorithm>
#include <map>

#include "agent/src/checkpoint/commit/inventory.h"
#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/load/pack_reader.h"
#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/checkpoint/retention/pins.h"
#include "agent/src/checkpoint/retention/retention.h"
#include "agent/src/checkpoint/saver/pack_writer.h"

namespace ratoon::checkpoint {
namespace {

template <class Act>
void for_each_part(std::span<const PackRecord> packs, const Act& act) {
  for (const PackRecord& pack : packs)
    for (const TensorInParts& tensor : pack.tensors_in_parts)
      for (const PartRecord& part : tensor.parts) act(part);
}

Error missing_part_error(const std::string& shown) {
  return {ErrorKind::kInvalid,
          shown +
              " does not exist, but a pack of the checkpoint refers to it: the checkpoint from which the "
              "save took this part was removed meanwhile; the checkpoint is not committed, and the next "
              "save writes the part again"};
}

// Adds the part files that the packs in a manifest or receipt name. A file that is damaged on the disk names
// no files, because its checkpoint cannot be loaded. Returns any other error, because a file that cannot be
// read now may name files.
template <class Decode>
Result<void> add_parts_of_file(const Disk& disk, const std::string& path, const Decode& decode,
                               std::set<std::string>& named) {
  const auto packs = read_file_with_retry(disk, path, [&]() -> Result<std::vector<PackRecord>> {
    const auto text = read_whole_file(disk, path, kManifestBytesMax);
    if (!text) return text.error();
    return decode(*text);
  });
  if (!packs && packs.error().kind() == ErrorKind::kCorrupted) return {};
  if (!packs) return packs.error();
  for_each_part(*packs, [&](const PartRecord& part) { named.insert(path_of_part(part)); });
  return {};
}

// Adds the part files that the manifests in `folder` name, and the checkpoints of these manifests to `read`.
Result<void> add_parts_of_manifests(const Disk& disk, const char* folder, std::set<std::string>& named,
                                    std::set<CheckpointId>& read) {
  const auto ids = checkpoints_with_manifest_in(disk, {folder});
  if (!ids) return ids.error();
  const auto packs_of = [](std::string_view text) -> Result<std::vector<PackRecord>> {
    auto manifest = decode_manifest(text);
    if (!manifest) return manifest.error();
    return std::move(manifest->packs);
  };
  for (const CheckpointId& id : *ids) {
    const auto added = add_parts_of_file(disk, manifest_path(id, folder), packs_of, named);
    if (failed_with(added, ErrorKind::kNotFound)) continue;  // moved or removed since
    if (!added) return added;
    read.insert(id);
  }
  return {};
}

// Adds the part files that the receipts of a checkpoint name.
Result<void> add_parts_of_receipts(const Disk& disk, const CheckpointId& id, std::set<std::string>& named) {
  const auto files = list_if_there(disk, receipts_folder(id));
  if (!files) return files.error();
  const auto packs_of = [](std::string_view text) -> Result<std::vector<PackRecord>> {
    auto receipt = decode_receipt(text);
    if (!receipt) return receipt.error();
    return std::vector{*std::move(receipt)};
  };
  for (const DiskEntry& file : *files) {
    const auto added = add_parts_of_file(disk, receipts_folder(id) + "/" + file.name, packs_of, named);
    if (!added && !failed_with(added, ErrorKind::kNotFound)) return added;
  }
  return {};
}

// Returns the part files that a checkpoint of this folder needs.
Result<std::set<std::string>> find_needed_parts(const Disk& disk) {
  std::set<std::string> named;
  std::set<CheckpointId> read;
  // A manifest that moves from manifests/ to another folder is copied there first, so read manifests/ first.
  for (const char* folder : {kManifests, kQuarantine, kAsideFolder})
    if (auto added = add_parts_of_manifests(disk, folder, named, read); !added) return added.error();
  const auto pinned = list_pinned(disk);
  if (!pinned) return pinned.error();
  // retire_checkpoint() removes the manifest of a checkpoint that becomes pinned, and then restores it: the
  // manifest may be there now although it was not read above.
  for (const CheckpointId& id : *pinned) {
    if (read.contains(id)) continue;
    if (auto added = add_parts_of_receipts(disk, id, named); !added) return added.error();
  }
  return named;
}

Result<bool> has_newer_attempt(const Disk& disk, Attempt own) {
  for (const char* folder : {kParts, kPacks}) {
    const auto entries = list_if_there(disk, folder);
    if (!entries) return entries.error();
    for (const DiskEntry& entry : *entries)
      if (const auto attempt = parse_attempt_name(entry.name); attempt && *attempt > own) return true;
  }
  return false;
}

Result<void> sweep_folder(Disk& disk, const std::string& folder, const std::set<std::string>& named) {
  const auto files = list_if_there(disk, folder);
  if (!files) return files.error();
  for (const DiskEntry& file : *files) {
    const std::string path = folder + "/" + file.name;
    if (file.is_folder || !is_name_of_part_file(file.name) || named.contains(path)) continue;
    const auto removed = disk.remove(path);
    if (!removed && !failed_with(removed, ErrorKind::kNotFound)) return removed;
  }
  static_cast<void>(disk.remove_folder(folder));  // fails while the folder has files
  return {};
}

}  // namespace

std::string path_of_part(const PartRecord& part) {
  return part_path(part.saved_in, part.header_digest);
}

PackRecord pack_record_of_part(const TensorInParts& tensor, std::size_t part, const std::string& owner) {
  const PartRecord& record = tensor.parts[part];
  const std::uint64_t bytes = count_bytes(tensor.type, tensor.part_shape(part)).value_or(0);
  return {.size_bytes = record.header_bytes + bytes,
          .header_bytes = record.header_bytes,
          .header_digest = record.header_digest,
          .owner = owner};
}

std::uint64_t count_part_bytes(const PackRecord& pack, std::set<std::string>& counted) {
  std::uint64_t bytes = 0;
  for (const TensorInParts& tensor : pack.tensors_in_parts)
    for (std::size_t part = 0; part < tensor.parts.size(); ++part)
      if (counted.insert(path_of_part(tensor.parts[part])).second)
        bytes += pack_record_of_part(tensor, part, pack.owner).size_bytes;
  return bytes;
}

Result<void> verify_parts(const Disk& disk, const PackRecord& pack, bool reads_all_bytes,
                          std::set<std::string>& verified) {
  for (const TensorInParts& tensor : pack.tensors_in_parts) {
    for (std::size_t part = 0; part < tensor.parts.size(); ++part) {
      const std::string path = path_of_part(tensor.parts[part]);
      if (verified.contains(path)) continue;
      const auto file = PackReader::open_part(disk, tensor, part, pack.owner);
      if (!file) return file.error();
      if (reads_all_bytes)
        if (auto read = file->verify(); !read) return read;
      verified.insert(path);
    }
  }
  return {};
}

Result<std::vector<TensorInParts>> write_parts(Disk& disk, const CheckpointId& id, const PartsOfSave& parts,
                                               std::string_view mark, const std::string& owner) {
  if (parts.base && disk.open(manifest_path(*parts.base, kQuarantine))) {
    return Error(ErrorKind::kConflict,
                 "the checkpoint of step " + std::to_string(parts.base->step.value()) +
                     " is damaged, and this save refers to parts of it; the next save writes all parts");
  }
  std::vector<TensorInParts> tensors = parts.tensors;
  if (parts.to_write.empty()) return tensors;
  const std::string folder = parts_folder(id);
  if (auto made = make_folders(disk, folder, Durability::kSurvivesPowerCuts); !made) return made.error();
  for (const PartToWrite& part : parts.to_write) {
    const auto path_of = [&](const PackRecord& record) { return part_path(id, record.header_digest); };
    const auto written = write_pack_named_by_content(disk, path_of, part.rows, mark, owner);
    if (!written) return written.error();
    for (const auto& [tensor, number] : part.places)
      tensors[tensor].parts[number] = {.saved_in = id,
                                       .header_bytes = written->record.header_bytes,
                                       .header_digest = written->record.header_digest,
                                       .rows_digest = written->hashes.front()};
  }
  if (auto synced = disk.sync_folder(folder); !synced) return synced.error();
  return tensors;
}

Result<void> check_older_parts(const Disk& disk, const CheckpointId& id, std::span<const PackRecord> packs) {
  // Do not check the parts of a base checkpoint that has a manifest, because sweep_parts() keeps all of them.
  // The base is the checkpoint whose parts the save reused.
  std::map<CheckpointId, bool> are_bases_there;
  std::map<std::string, std::set<std::string>> older;  // the names of files to look for, by folder
  for (const PackRecord& pack : packs) {
    if (!pack.parts_base_checkpoint) continue;
    auto base = are_bases_there.find(*pack.parts_base_checkpoint);
    if (base == are_bases_there.end())
      base = are_bases_there
                 .emplace(*pack.parts_base_checkpoint,
                          !is_file_missing(disk, manifest_path(*pack.parts_base_checkpoint)))
                 .first;
    if (base->second) continue;
    for_each_part(std::span(&pack, 1), [&](const PartRecord& part) {
      const std::string folder = parts_folder(part.saved_in);
      if (part.saved_in != id) older[folder].insert(path_of_part(part).substr(folder.size() + 1));
    });
  }
  for (const auto& [folder, names] : older) {
    const auto entries = list_if_there(disk, folder);
    if (!entries) return entries.error();
    std::set<std::string> there;
    for (const DiskEntry& entry : *entries) there.insert(entry.name);
    for (const std::string& name : names)
      if (!there.contains(name)) return missing_part_error(disk.shown(folder + "/" + name));
  }
  return {};
}

Result<void> remove_parts_of(Disk& disk, const CheckpointId& id) {
  return sweep_folder(disk, parts_folder(id), {});
}

Result<void> sweep_parts(Disk& disk, const CheckpointId& before) {
  const auto attempts = list_if_there(disk, kParts);
  if (!attempts) return attempts.error();
  if (attempts->empty()) return {};
  const auto has_newer = has_newer_attempt(disk, before.attempt);
  if (!has_newer) return has_newer.error();
  if (*has_newer) return {};
  const auto named = find_needed_parts(disk);
  if (!named) return named.error();
  for (const DiskEntry& entry : *attempts) {
    const auto attempt = parse_attempt_name(entry.name);
    if (!attempt || !entry.is_folder) continue;
    const std::string folder = std::string(kParts) + "/" + entry.name;
    const auto steps = list_if_there(disk, folder);
    if (!steps) return steps.error();
    for (const DiskEntry& one : *steps) {
      const auto step = parse_step_name(one.name);
      if (!step || !one.is_folder || CheckpointId{.attempt = *attempt, .step = *step} >= before) continue;
      if (auto swept = sweep_folder(disk, folder + "/" + one.name, *named); !swept) return swept;
    }
    if (*attempt < before.attempt) static_cast<void>(disk.remove_folder(folder));
  }
  return {};
}

}  // namespace ratoon::checkpoint
