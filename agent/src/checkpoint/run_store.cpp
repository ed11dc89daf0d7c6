#include "agent/src/checkpoint/run_store.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>

#include <ratoon/atomic_file.h>

#include "base/core/durable_folder.h"
#include "base/core/xxh3.h"

namespace ratoon::checkpoint {
namespace {

namespace fs = std::filesystem;

std::string digest_of(std::string_view bytes) {
  return to_hex(xxh3_128(std::as_bytes(std::span(bytes))));
}

Error file_error(const std::error_code& code, const std::string& doing) {
  return system_error(code.value(), doing);
}

Result<std::string> read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return system_error(errno, "opening " + path.string());
  std::string bytes;
  std::array<char, 64 * 1024> block;
  while (in.read(block.data(), block.size()) || in.gcount() > 0)
    bytes.append(block.data(), static_cast<std::size_t>(in.gcount()));
  if (in.bad()) return system_error(EIO, "reading " + path.string());
  return bytes;
}

// No file of a run is ever written again: whoever finds its name taken is not who it thinks it is.
constexpr AtomicFileOptions kOnce{.replaces = false};

// Attempts that wrote packs, by the names of their folders; 0 if there are none.
Attempt newest_attempt_in(const fs::path& packs, std::error_code& code) {
  Attempt newest{0};
  if (!fs::exists(packs, code)) return newest;
  for (fs::directory_iterator it(packs, code), end; !code && it != end; it.increment(code)) {
    if (const auto attempt = parse_attempt_name(it->path().filename().string()))
      newest = std::max(newest, *attempt);
  }
  return newest;
}

InventoryEntry entry_of(const CheckpointId& id, std::string digest, bool is_complete = true) {
  return {.tier = "volume",
          .attempt = id.attempt,
          .step = id.step,
          .digest = std::move(digest),
          .is_complete = is_complete};
}

}  // namespace

Result<RunStore> RunStore::open(fs::path folder) {
  if (auto made = create_folders(manifests_folder(folder)); !made) return made.error();
  return RunStore(std::move(folder));
}

Result<Manifest> RunStore::read_manifest(const CheckpointId& id, std::string* digest) const {
  const fs::path path = manifest_path(folder_, id);
  const auto text = read_file(path);
  if (!text) return text.error();
  auto manifest = decode_manifest(*text);
  if (!manifest) return Error(ErrorKind::kCorrupted, path.string() + ": " + manifest.error().message());
  if (manifest->id != id)
    return Error(ErrorKind::kCorrupted, path.string() + " describes another checkpoint");
  if (digest != nullptr) *digest = digest_of(*text);
  return manifest;
}

Result<RunStore::Inventory> RunStore::inventory() const {
  std::error_code code;
  std::vector<CheckpointId> ids;
  for (fs::directory_iterator it(manifests_folder(folder_), code), end; !code && it != end;
       it.increment(code)) {
    if (const auto id = parse_manifest_name(it->path().filename().string())) ids.push_back(*id);
  }
  if (code) return file_error(code, "listing " + manifests_folder(folder_).string());
  std::sort(ids.rbegin(), ids.rend());

  Inventory found;
  found.newest_attempt = newest_attempt_in(packs_folder(folder_), code);
  if (code) return file_error(code, "listing " + packs_folder(folder_).string());
  for (const auto& id : ids) {
    found.newest_attempt = std::max(found.newest_attempt, id.attempt);
    std::string digest;
    const auto manifest = read_manifest(id, &digest);
    if (manifest)
      found.complete.push_back(entry_of(id, digest));
    else if (manifest.error().kind() == ErrorKind::kCorrupted)
      found.damaged.push_back(entry_of(id, "damaged", false));
    else if (manifest.error().kind() != ErrorKind::kNotFound)  // else it was retired since it was listed
      return manifest.error();
  }
  return found;
}

Result<void> RunStore::write_pack(const CheckpointId& id, Rank rank, const NamedStates& states) const {
  const std::string pack = encode_pack(states);
  const PackRecord record{.rank = rank, .size_bytes = pack.size(), .digest = digest_of(pack)};
  if (auto made = create_folders(packs_folder(folder_, id)); !made) return made;
  if (auto made = create_folders(receipts_folder(folder_, id)); !made) return made;
  if (auto saved = save_file_atomically(packs_folder(folder_, id) / pack_name(rank), pack, kOnce); !saved)
    return saved;
  return save_file_atomically(receipts_folder(folder_, id) / receipt_name(rank), encode_receipt(record),
                              kOnce);
}

Result<std::optional<InventoryEntry>> RunStore::find(const CheckpointId& id) const {
  std::string digest;
  const auto manifest = read_manifest(id, &digest);
  if (manifest) return std::optional(entry_of(id, digest));
  if (manifest.error().kind() == ErrorKind::kNotFound) return std::optional<InventoryEntry>();
  return manifest.error();
}

Result<std::optional<InventoryEntry>> RunStore::try_commit(const CheckpointId& id,
                                                           std::uint32_t world_size) const {
  Manifest manifest{.id = id, .packs = {}};
  for (std::uint32_t rank = 0; rank < world_size; ++rank) {
    const fs::path path = receipts_folder(folder_, id) / receipt_name(Rank(rank));
    const auto text = read_file(path);
    if (!text && text.error().kind() == ErrorKind::kNotFound) return std::optional<InventoryEntry>();
    if (!text) return text.error();
    auto receipt = decode_receipt(*text);
    if (!receipt) return receipt.error().with_context(path.string());
    if (receipt->rank != Rank(rank))
      return Error(ErrorKind::kCorrupted, path.string() + " is of another rank");
    manifest.packs.push_back(std::move(*receipt));
  }
  const std::string text = encode_manifest(manifest);
  const auto saved = save_file_atomically(manifest_path(folder_, id), text, kOnce);
  if (!saved && saved.error().kind() != ErrorKind::kAlreadyExists) return saved.error();
  return find(id);
}

Result<NamedStates> RunStore::read_pack(const CheckpointId& id, const PackRecord& record) const {
  const fs::path path = packs_folder(folder_, id) / pack_name(record.rank);
  const auto pack = read_file(path);
  if (!pack) return pack.error();
  if (pack->size() != record.size_bytes || digest_of(*pack) != record.digest) {
    return Error(ErrorKind::kCorrupted, path.string() + " does not hold the bytes that were committed");
  }
  auto states = decode_pack(*pack);
  if (!states) return states.error().with_context(path.string());
  return states;
}

Result<NamedStates> RunStore::load(const ResumePoint& point, Rank rank) const {
  const CheckpointId id{.attempt = point.attempt, .step = point.step};
  std::string digest;
  const auto manifest = read_manifest(id, &digest);
  if (!manifest) return manifest.error();
  if (digest != point.digest) {
    return Error(ErrorKind::kCorrupted, manifest_path(folder_, id).string() +
                                            " is not the manifest that was chosen (" + point.digest +
                                            " expected, " + digest + " found)");
  }
  return read_pack(id, manifest->packs[rank.value() % manifest->packs.size()]);
}

Result<void> RunStore::retire_old(std::uint64_t keep, Attempt own) const {
  const auto found = inventory();
  if (!found) return found.error();
  if (found->complete.size() <= keep) return {};
  const InventoryEntry& newest = found->complete.front();
  const CheckpointId newest_id{.attempt = newest.attempt, .step = newest.step};
  const auto manifest = read_manifest(newest_id, nullptr);
  if (!manifest) return manifest.error();
  for (const auto& record : manifest->packs) {
    if (const auto readable = read_pack(newest_id, record); !readable) return readable.error();
  }

  for (std::size_t i = keep; i < found->complete.size(); ++i) {
    const CheckpointId id{.attempt = found->complete[i].attempt, .step = found->complete[i].step};
    if (id.attempt > own) continue;
    std::error_code code;
    // The manifest goes first: from then on the checkpoint does not exist, whatever is left of it.
    fs::remove(manifest_path(folder_, id), code);
    if (const auto synced = sync_folder(manifests_folder(folder_)); !synced) return synced.error();
    if (!code) fs::remove_all(packs_folder(folder_, id), code);
    if (!code) fs::remove_all(receipts_folder(folder_, id), code);
    if (code)
      return file_error(code, "removing an old checkpoint of step " + std::to_string(id.step.value()));
  }
  return {};
}

}  // namespace ratoon::checkpoint
