#include "agent/src/checkpoint/commit/commit.h"

#include <string>
#include <vector>

#include <ratoon/version.h>

#include "agent/src/checkpoint/commit/inventory.h"
#include "agent/src/checkpoint/commit/lost_manifests.h"
#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/load/pack_reader.h"
#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/checkpoint/pack/cover.h"
#include "agent/src/checkpoint/pack/header/header.h"
#include "agent/src/checkpoint/pack/part_index.h"
#include "agent/src/checkpoint/parts/part_files.h"
#include "agent/src/checkpoint/retention/pins.h"
#include "agent/src/checkpoint/saver/pack_writer.h"

namespace ratoon::checkpoint {
namespace {

// Reads the receipt of a rank, which reports that the rank's pack file is on the disk. Returns nothing if the
// rank has not written its receipt yet.
Result<std::optional<PackRecord>> read_receipt_once(const Disk& disk, const CheckpointId& id, Rank rank) {
  const std::string path = receipt_path(id, rank);
  const auto text = read_whole_file(disk, path, kManifestBytesMax);
  if (!text && text.error().kind() == ErrorKind::kNotFound) return std::optional<PackRecord>();
  if (!text) return text.error();
  auto receipt = decode_receipt(*text);
  if (!receipt) return receipt.error().with_context(disk.shown(path));
  if (receipt->rank != rank)
    return Error(ErrorKind::kCorrupted, disk.shown(path) + " is the receipt of another rank");
  return std::optional(*std::move(receipt));
}

Result<std::optional<PackRecord>> read_receipt(const Disk& disk, const CheckpointId& id, Rank rank) {
  return read_file_with_retry(disk, receipt_path(id, rank),
                              [&] { return read_receipt_once(disk, id, rank); });
}

Error incomplete_checkpoint_error(const std::string& why) {
  return Error(ErrorKind::kInvalid,
               "the packs of the ranks do not make up a whole checkpoint, and it is not committed: " + why);
}

// Checks that the parts of each shared tensor, which are in the packs of different ranks, make up the whole
// tensor: otherwise the checkpoint could not be loaded.
Result<void> check_shared_tensors(std::span<const NamedPackHeader> packs) {
  std::vector<IndexedPack> indexed;
  for (const auto& pack : packs) {
    indexed.push_back({.name = pack.shown,
                       .layout = &pack.header.layout,
                       .hashes = pack.header.hashes,
                       .skips_tensors_without_box = true});
  }
  const auto index = PartIndex::build(indexed);
  if (!index) return incomplete_checkpoint_error(index.error().message());
  if (index->tensors().empty()) return {};
  if (auto covered = check_cover(*index); !covered)
    return incomplete_checkpoint_error(covered.error().message());
  for (const auto& pack : indexed) {
    for (const auto& tensor : pack.layout->tensors) {
      if (is_indexed_part(pack, tensor) || index->find(tensor.name) == nullptr) continue;
      return incomplete_checkpoint_error("tensor " + in_quotes(tensor.name) + " is not shared in " +
                                         std::string(pack.name) +
                                         ", but is a part of a shared tensor in another pack");
    }
  }
  return {};
}

Error another_job_error(const std::string& shown, const std::string& owner, std::string_view own) {
  return {ErrorKind::kConflict, shown + " was written by another job, " + owner + ", and this job is " +
                                    std::string(own) +
                                    ": both save under one name; end one of the jobs, or give it a "
                                    "--run-name of its own; nothing was changed"};
}

// Writes the part files of a save, and names them in the record of its pack.
Result<void> write_parts_into_record(Disk& disk, const CheckpointId& id, const PartsOfSave& parts,
                                     std::string_view mark, const std::string& owner, PackRecord& record) {
  auto tensors = write_parts(disk, id, parts, mark, owner);
  if (!tensors) return tensors.error();
  record.tensors_in_parts = *std::move(tensors);
  record.parts_base_checkpoint = parts.base;
  return {};
}

Error manifest_too_long_error(std::size_t bytes) {
  return {ErrorKind::kInvalid, "the manifest has " + std::to_string(bytes) + " bytes, and at most " +
                                   std::to_string(kManifestBytesMax) +
                                   " can be read: track fewer tensors with .is_saved_in_parts, because the "
                                   "manifest names each of their parts"};
}

bool belongs_to_another_job(std::string_view owner, std::string_view own) {
  return !owner.empty() && !own.empty() && owner != own;
}

// Checks that all packs of the checkpoint were written by the job that commits the checkpoint. A pack holds
// the tensors of one rank.
Result<void> check_owners(const Disk& disk, const CheckpointId& id, std::span<const PackRecord> receipts,
                          std::string_view own) {
  if (const auto mixture = find_two_owners(receipts))
    return Error(ErrorKind::kConflict, disk.shown(receipts_folder(id)) + " is not committed: " + *mixture);
  const std::string owner = owner_of(receipts);
  if (belongs_to_another_job(owner, own))
    return another_job_error(disk.shown(receipts_folder(id)), owner, own);
  return {};
}

// Returns the job that wrote a pack without a receipt, from the pack's header. Returns an empty text if the
// pack does not exist or cannot be read.
std::string owner_in_pack(const Disk& disk, const std::string& path) {
  const auto file = disk.open(path);
  const auto size = file ? (*file)->size() : Result<std::uint64_t>(file.error());
  if (!size || *size < kHeaderLengthBytes) return "";
  std::string text(kHeaderLengthBytes, '\0');
  if (!(*file)->read(0, std::as_writable_bytes(std::span(text)))) return "";
  const auto header_bytes = header_bytes_of(text, *size);
  if (!header_bytes) return "";
  text.resize(*header_bytes);
  if (!(*file)->read(0, std::as_writable_bytes(std::span(text)))) return "";
  const auto header = decode_header(text, *size);
  return header ? header->layout.owner : "";
}

// Returns rank 0's record of the run, completed with the pending requests (save, keep, finish) of all ranks.
std::optional<RunRecord> merge_run_records(std::span<const PackRecord> receipts) {
  auto run = receipts.front().run;
  for (const PackRecord& receipt : receipts)
    if (run && receipt.run && &receipt != &receipts.front()) run->merge_requests(*receipt.run);
  return run;
}

// Handles the pack and receipt that an earlier try to save this checkpoint left. If a receipt exists, returns
// the receipt, because it proves that the pack is complete. If no receipt exists, removes the pack: it may be
// incomplete, and its name may not be durable.
Result<std::optional<PackRecord>> take_receipt_or_remove_pack(Disk& disk, const CheckpointId& id, Rank rank,
                                                              std::string_view own) {
  auto receipt = read_receipt(disk, id, rank);
  const std::string pack = pack_path(id, rank);
  const std::string owner = receipt && *receipt ? (*receipt)->owner : owner_in_pack(disk, pack);
  if (belongs_to_another_job(owner, own)) return another_job_error(disk.shown(pack), owner, own);
  if (receipt && *receipt) return receipt;
  if (!receipt && receipt.error().kind() != ErrorKind::kCorrupted) return receipt;
  for (const std::string& path : {receipt_path(id, rank), pack}) {
    const auto removed = disk.remove(path);
    if (!removed && removed.error().kind() != ErrorKind::kNotFound) return removed.error();
  }
  return std::optional<PackRecord>();
}

Result<std::optional<InventoryEntry>> commit_receipts(Disk& disk, const CheckpointId& id,
                                                      std::string_view mark, std::string_view owner,
                                                      std::vector<PackRecord> receipts) {
  if (auto checked = check_owners(disk, id, receipts, owner); !checked) return checked.error();
  // A checkpoint is committed only if each pack file still matches the receipt that its rank wrote.
  std::vector<NamedPackHeader> packs;
  for (const PackRecord& receipt : receipts) {
    auto pack = read_pack_header(disk, pack_path(id, receipt.rank), receipt);
    if (!pack) return pack.error();
    packs.push_back(*std::move(pack));
  }
  if (auto shared = check_shared_tensors(packs); !shared) return shared.error();
  if (auto parts = check_older_parts(disk, id, receipts); !parts) return parts.error();
  auto run = merge_run_records(receipts);
  const Manifest manifest{.id = id,
                          .writer = "ratoon " + std::string(version()),
                          .packs = std::move(receipts),
                          .run = std::move(run)};
  // Pin the checkpoint before the commit, because another process that removes old checkpoints could
  // otherwise remove it at once. If the commit fails, the pin is harmless, because it then names a checkpoint
  // that does not exist.
  if (auto pinned = pin_if_requested(disk, manifest, mark); !pinned) return pinned.error();
  // Also unpin before the commit: if this process is lost between the two, the repeated step asks again.
  // After the commit, no later process would know whether the pins were removed, or a user has pinned again.
  if (auto unpinned = unpin_if_requested(disk, manifest); !unpinned) return unpinned.error();
  // save_durably() never overwrites a file. If another process wrote the manifest, find_committed() returns
  // that checkpoint, or kConflict if the process belongs to another job.
  const std::string text = encode_manifest(manifest);
  if (text.size() > kManifestBytesMax) return manifest_too_long_error(text.size());
  const auto saved = save_durably(disk, manifest_path(id), text, mark);
  if (saved) {
    write_commit_note(disk, id.attempt);
    unpin_no_longer_best(disk, manifest);
    return std::optional(entry_of(id, manifest_digest(text), true));
  }
  if (saved.error().kind() == ErrorKind::kAlreadyExists) return find_committed(disk, id, owner);
  return saved.error();
}

}  // namespace

Result<bool> read_receipts(const Disk& disk, const CheckpointId& id, std::uint32_t world_size,
                           std::vector<PackRecord>& receipts) {
  for (auto rank = static_cast<std::uint32_t>(receipts.size()); rank < world_size; ++rank) {
    auto receipt = read_receipt(disk, id, Rank(rank));
    if (!receipt) return receipt.error();
    if (!*receipt) return false;
    receipts.push_back(**std::move(receipt));
  }
  return true;
}

Result<void> write_receipt(Disk& disk, const CheckpointId& id, const PackRecord& record,
                           std::string_view mark) {
  if (auto made = make_folders(disk, receipts_folder(id), Durability::kNotDurable); !made) return made;
  return save_without_sync(disk, receipt_path(id, record.rank), encode_receipt(record), mark);
}

Result<WrittenPack> write_staged_pack(Disk& disk, const CheckpointId& id, Rank rank, const PackLayout& layout,
                                      std::span<const std::byte> image, std::string_view mark,
                                      EarlierWriteTry tried, const CopyProgress& filling,
                                      const std::optional<RunRecord>& run, const PartsOfSave& parts) {
  if (auto made = make_folders(disk, packs_folder(id), Durability::kSurvivesPowerCuts); !made)
    return made.error();
  if (tried == EarlierWriteTry::kBefore) {
    auto left = take_receipt_or_remove_pack(disk, id, rank, layout.owner);
    if (!left) return left.error();
    if (*left) return WrittenPack{.record = **std::move(left), .hashes = {}};
  }
  auto written = write_pack_image(disk, pack_path(id, rank), rank, layout, image, mark, filling);
  if (!written) return written;
  if (auto added = write_parts_into_record(disk, id, parts, mark, layout.owner, written->record); !added)
    return added.error();
  written->record.run = run;
  if (auto told = write_receipt(disk, id, written->record, mark); !told) return told.error();
  return written;
}

Result<PackRecord> write_unvoted_pack(Disk& disk, const CheckpointId& id, Rank rank,
                                      std::span<const TensorView> tensors, std::string_view mark,
                                      std::string_view owner, const CommittedParts& known) {
  if (auto made = make_folders(disk, packs_folder(id), Durability::kSurvivesPowerCuts); !made)
    return made.error();
  const SplitState split = split_into_parts(tensors, known);
  auto record = write_pack_file(disk, pack_path(id, rank), rank, split.pack_tensors, mark, owner);
  if (!record) return record;
  if (auto added = write_parts_into_record(disk, id, split.parts, mark, std::string(owner), *record); !added)
    return added.error();
  return record;
}

Result<void> write_pack(Disk& disk, const CheckpointId& id, Rank rank, std::span<const TensorView> tensors,
                        std::string_view mark, std::string_view owner, const CommittedParts& known) {
  const auto record = write_unvoted_pack(disk, id, rank, tensors, mark, owner, known);
  if (!record) return record.error();
  return write_receipt(disk, id, *record, mark);
}

Result<std::optional<InventoryEntry>> find_committed(Disk& disk, const CheckpointId& id,
                                                     std::string_view owner) {
  auto sealed = read_manifest(disk, id);
  if (sealed) {
    const std::string of = owner_of(sealed->manifest.packs);
    if (belongs_to_another_job(of, owner)) return another_job_error(disk.shown(manifest_path(id)), of, owner);
    // Sync the folder that holds the manifest's name before the commit is reported as durable: the process
    // that wrote the manifest may not have synced the folder yet.
    if (auto synced = disk.sync_folder(kManifests); !synced) return synced.error();
    return std::optional(entry_of(id, std::move(sealed->digest), true));
  }
  if (sealed.error().kind() == ErrorKind::kNotFound) return std::optional<InventoryEntry>();
  return sealed.error();
}

Result<std::optional<InventoryEntry>> try_commit(Disk& disk, const CheckpointId& id, std::uint32_t world_size,
                                                 std::string_view mark, std::string_view owner) {
  std::vector<PackRecord> receipts;
  return try_commit(disk, id, world_size, mark, owner, receipts);
}

Result<std::optional<InventoryEntry>> try_commit(Disk& disk, const CheckpointId& id, std::uint32_t world_size,
                                                 std::string_view mark, std::string_view owner,
                                                 std::vector<PackRecord>& receipts) {
  const auto are_all_there = read_receipts(disk, id, world_size, receipts);
  if (are_all_there && !*are_all_there) return std::optional<InventoryEntry>();
  auto committed = are_all_there ? commit_receipts(disk, id, mark, owner, receipts)
                                 : Result<std::optional<InventoryEntry>>(are_all_there.error());
  if (!committed) receipts.clear();
  return committed;
}

}  // namespace ratoon::checkpoint
