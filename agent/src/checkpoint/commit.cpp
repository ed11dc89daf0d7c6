#include "agent/src/checkpoint/commit.h"

#include <ratoon/version.h>

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/inventory.h"
#include "agent/src/checkpoint/pack_reader.h"
#include "agent/src/checkpoint/pack_writer.h"

namespace ratoon::checkpoint {
namespace {

// Nothing where it is not there yet.
Result<std::optional<PackRecord>> read_receipt_once(const Disk& disk, const CheckpointId& id, Rank rank) {
  const std::string path = receipt_path(id, rank);
  const auto text = read_whole(disk, path, kManifestBytesMax);
  if (!text && text.error().kind() == ErrorKind::kNotFound) return std::optional<PackRecord>();
  if (!text) return text.error();
  auto receipt = decode_receipt(*text);
  if (!receipt) return receipt.error().with_context(disk.shown(path));
  if (receipt->rank != rank) return Error(ErrorKind::kCorrupted, disk.shown(path) + " is of another rank");
  return std::optional(*std::move(receipt));
}

Result<std::optional<PackRecord>> read_receipt(const Disk& disk, const CheckpointId& id, Rank rank) {
  return read_twice([&] { return read_receipt_once(disk, id, rank); });
}

}  // namespace

Result<void> write_pack(Disk& disk, const CheckpointId& id, Rank rank, std::span<const TensorView> tensors,
                        std::string_view mark) {
  if (auto made = make_folders(disk, packs_folder(id), Lasts::kPowerCuts); !made) return made;
  const auto record = write_pack_file(disk, pack_path(id, rank), rank, tensors, mark);
  if (!record) return record.error();
  if (auto made = make_folders(disk, receipts_folder(id), Lasts::kForNow); !made) return made;
  return save_for_now(disk, receipt_path(id, rank), encode_receipt(*record), mark);
}

Result<std::optional<InventoryEntry>> find_committed(Disk& disk, const CheckpointId& id) {
  auto sealed = read_manifest(disk, id);
  if (sealed) {
    // Whoever wrote it may not have synced its name yet, and what we say is told on as durable.
    if (auto synced = disk.sync_folder(kManifests); !synced) return synced.error();
    return std::optional(entry_of(id, std::move(sealed->digest), true));
  }
  if (sealed.error().kind() == ErrorKind::kNotFound) return std::optional<InventoryEntry>();
  return sealed.error();
}

Result<std::optional<InventoryEntry>> try_commit(Disk& disk, const CheckpointId& id, std::uint32_t world_size,
                                                 std::string_view mark) {
  Manifest manifest{.id = id, .writer = "ratoon " + std::string(version()), .packs = {}};
  for (std::uint32_t rank = 0; rank < world_size; ++rank) {
    auto receipt = read_receipt(disk, id, Rank(rank));
    if (!receipt) return receipt.error();
    if (!*receipt) return std::optional<InventoryEntry>();
    // What a receipt says and what lies there must agree at the moment of the commit.
    const auto pack = PackReader::open(disk, pack_path(id, Rank(rank)), **receipt);
    if (!pack) return pack.error();
    manifest.packs.push_back(**std::move(receipt));
  }
  // No file of a run is ever written again: whoever finds its name taken is not who it thinks it is.
  const auto saved = save_durably(disk, manifest_path(id), encode_manifest(manifest), mark, IfThere::kRefuse);
  if (!saved && saved.error().kind() != ErrorKind::kAlreadyExists) return saved.error();
  return find_committed(disk, id);
}

}  // namespace ratoon::checkpoint
