#include "agent/src/checkpoint/tiers/stores/mirror.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "agent/src/checkpoint/commit/inventory.h"
#include "agent/src/checkpoint/commit/lost_manifests.h"
#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/pack/header/header.h"
#include "agent/src/checkpoint/parts/part_files.h"
#include "agent/src/checkpoint/retention/pins.h"
#include "agent/src/checkpoint/retention/retention.h"
#include "base/core/crc32c.h"
#include "base/core/random_name.h"
#include "base/core/threads/mutex.h"

namespace ratoon::checkpoint {
namespace {

// Lets several threads of an upload read from one ReadFile. Only one thread at a time may use a ReadFile.
class DiskFileSource final : public objects::ObjectSource {
 public:
  DiskFileSource(const ReadFile& file, std::uint64_t size_bytes) : file_(file), size_bytes_(size_bytes) {}

  [[nodiscard]] std::uint64_t size_bytes() const override { return size_bytes_; }
  [[nodiscard]] Result<void> read(std::uint64_t offset, std::span<char> into) override {
    const MutexLock lock(mutex_);
    return file_.read(offset, std::as_writable_bytes(into));
  }

 private:
  Mutex mutex_;
  const ReadFile& file_ RATOON_GUARDED_BY(mutex_);
  const std::uint64_t size_bytes_;
};

// Returns the header of a pack, or an error if it does not match the digest in the manifest.
Result<std::string> read_header_text(const ReadFile& file, const std::string& shown,
                                     const PackRecord& record) {
  const auto size = file.size();
  if (!size) return size.error();
  if (*size != record.size_bytes) {
    return Error(ErrorKind::kCorrupted, shown + " has " + std::to_string(*size) + " bytes, and " +
                                            std::to_string(record.size_bytes) + " were committed");
  }
  if (const std::uint64_t most = std::min(*size, kHeaderBytesMax); record.header_bytes > most) {
    return Error(ErrorKind::kCorrupted, "the manifest says that the header of " + shown + " has " +
                                            std::to_string(record.header_bytes) + " bytes, and at most " +
                                            std::to_string(most) + " are possible");
  }
  std::string text(record.header_bytes, '\0');
  if (auto read = file.read(0, std::as_writable_bytes(std::span(text))); !read) return read.error();
  const std::string digest = to_hex(xxh3_128(std::as_bytes(std::span(text))));
  if (digest == record.header_digest) return text;
  return Error(ErrorKind::kCorrupted, shown + ": its header is not the one that was committed (digest " +
                                          record.header_digest + " expected, " + digest + " found)");
}

// Returns the CRC32C of the whole file, computed from the checksums in its header without reading the
// data.
Result<std::uint32_t> pack_crc32c(const std::string& text, const std::string& shown,
                                  const PackRecord& record) {
  const auto header = decode_header(text, record.size_bytes);
  if (!header) return header.error().with_context(shown);
  std::uint32_t crc = crc32c(std::as_bytes(std::span(text)));
  std::uint64_t left = header->layout.data_bytes;
  for (const std::uint32_t block : header->block_crcs) {
    const std::uint64_t bytes = std::min<std::uint64_t>(left, kPackBlockBytes);
    crc = crc32c_combine(crc, block, bytes);
    left -= bytes;
  }
  return crc;
}

Error another_run_error(const std::string& shown) {
  return {ErrorKind::kConflict,
          shown +
              " exists already and belongs to another run: two runs share one name; use "
              "another run name, or another place in the store"};
}

// Checks that the object in the store is the pack of `record`. Comparing the headers is enough: they contain
// the checksums of the data, and an object in a store is always complete.
Result<void> expect_same_pack(const ObjectStoreDisk& to, const std::string& path, const PackRecord& record) {
  const auto file = to.open(path);
  if (!file) return file.error();
  const auto text = read_header_text(**file, to.shown(path), record);
  if (text) return {};
  return text.error().kind() == ErrorKind::kCorrupted ? another_run_error(to.shown(path)) : text.error();
}

// Returns true if the store has a manifest of this checkpoint with exactly this text.
Result<bool> is_committed_in_store(const ObjectStoreDisk& to, const CheckpointId& id,
                                   const std::string& text) {
  const auto there = read_whole_file(to, manifest_path(id), kManifestBytesMax);
  if (!there && there.error().kind() == ErrorKind::kNotFound) return false;
  if (!there) return there.error();
  if (*there != text) return another_run_error(to.shown(manifest_path(id)));
  return true;
}

}  // namespace

namespace {

// Copies one pack or part file to the store. Returns true if it was sent, and false if the store already had
// it.
Result<bool> mirror_file(const Disk& from, const std::string& path, const PackRecord& record,
                         ObjectStoreDisk& to, const MirrorOptions& options) {
  const std::string shown = from.shown(path);
  // Check first whether the store has the pack, because a killed process may have sent it. Without this
  // check, the store would refuse the second upload only after all bytes were sent.
  const auto there = expect_same_pack(to, path, record);
  if (there) return false;
  if (there.error().kind() != ErrorKind::kNotFound) return there.error();

  const auto file = from.open(path);
  if (!file && file.error().kind() == ErrorKind::kNotFound)
    return Error(ErrorKind::kCorrupted, shown + " does not exist, but a manifest names it");
  if (!file) return file.error();
  const auto text = read_with_retry([&] { return read_header_text(**file, shown, record); },
                                    [&] { (*file)->drop_from_page_cache(); });
  if (!text) return text.error();
  const auto crc = pack_crc32c(*text, shown, record);
  if (!crc) return crc.error();
  DiskFileSource source(**file, record.size_bytes);
  const auto uploaded = read_with_retry(
      [&] {
        return to.store().upload(path, source,
                                 {.replaces = false,
                                  .crc32c = *crc,
                                  .part_bytes = options.part_bytes,
                                  .threads = options.threads,
                                  .progress = options.progress,
                                  .stop = options.stop});
      },
      [&] { (*file)->drop_from_page_cache(); });
  if (uploaded) return true;
  if (uploaded.error().kind() != ErrorKind::kAlreadyExists) return uploaded.error();
  if (auto same = expect_same_pack(to, path, record); !same) return same.error();
  return false;
}

// Adds to `stored` the part files that the newest checkpoint in the store needs. The store has these part
// files, because a checkpoint is committed after its part files were uploaded, and part files that a
// checkpoint needs are never removed. The next checkpoint needs most of the same part files.
Result<void> add_stored_parts(const ObjectStoreDisk& to, std::set<std::string>& stored) {
  const auto ids = checkpoints_with_manifest_in(to, {kManifests});
  if (!ids) return ids.error();
  if (ids->empty()) return {};
  const auto newest = read_manifest(to, *ids->rbegin());
  if (!newest) return {};
  for (const PackRecord& pack : newest->manifest.packs) static_cast<void>(count_part_bytes(pack, stored));
  return {};
}

Result<void> mirror_parts(const Disk& from, const PackRecord& pack, ObjectStoreDisk& to,
                          const MirrorOptions& options, std::set<std::string>& stored) {
  for (const TensorInParts& tensor : pack.tensors_in_parts) {
    for (std::size_t part = 0; part < tensor.parts.size(); ++part) {
      const std::string path = path_of_part(tensor.parts[part]);
      if (stored.contains(path)) continue;
      const auto sent = mirror_file(from, path, pack_record_of_part(tensor, part, pack.owner), to, options);
      if (!sent) return sent.error();
      stored.insert(path);
    }
  }
  return {};
}

Result<bool> mirror_pack_and_parts(const Disk& from, const CheckpointId& id, const PackRecord& record,
                                   ObjectStoreDisk& to, const MirrorOptions& options,
                                   std::set<std::string>& stored) {
  if (auto sent = mirror_parts(from, record, to, options, stored); !sent) return sent.error();
  return mirror_file(from, pack_path(id, record.rank), record, to, options);
}

}  // namespace

Result<bool> mirror_pack(const Disk& from, const CheckpointId& id, const PackRecord& record,
                         ObjectStoreDisk& to, const MirrorOptions& options) {
  std::set<std::string> stored;
  if (!record.tensors_in_parts.empty())
    if (auto added = add_stored_parts(to, stored); !added) return added.error();
  return mirror_pack_and_parts(from, id, record, to, options, stored);
}

Result<MirrorResult> mirror_checkpoint(const Disk& from, const CheckpointId& id, ObjectStoreDisk& to,
                                       const MirrorOptions& options) {
  const auto sealed = read_manifest(from, id);
  if (!sealed) return sealed.error();
  MirrorResult mirrored{.digest = sealed->digest};
  const auto committed = is_committed_in_store(to, id, sealed->text);
  if (!committed) return committed.error();
  if (*committed) {
    mirrored.was_committed = true;
    return mirrored;
  }
  std::set<std::string> stored_parts;
  const auto& packs = sealed->manifest.packs;
  if (std::ranges::any_of(packs, [](const auto& pack) { return !pack.tensors_in_parts.empty(); }))
    if (auto added = add_stored_parts(to, stored_parts); !added) return added.error();
  for (const PackRecord& record : packs) {
    const auto sent = mirror_pack_and_parts(from, id, record, to, options, stored_parts);
    if (!sent) return sent.error();
    ++(*sent ? mirrored.packs_sent : mirrored.packs_already_in_store);
  }
  if (auto pinned = pin_if_requested(to, sealed->manifest, random_hex_name()); !pinned) return pinned.error();
  if (auto unpinned = unpin_if_requested(to, sealed->manifest); !unpinned) return unpinned.error();
  const auto put = to.store().put(manifest_path(id), sealed->text, {.replaces = false, .stop = options.stop});
  if (put) {
    write_commit_note(to, id.attempt);
    unpin_no_longer_best(to, sealed->manifest);
    return mirrored;
  }
  if (put.error().kind() != ErrorKind::kAlreadyExists) return put.error();
  // The object exists already: another process copies the same checkpoint, or an earlier request of this
  // process succeeded and its reply was lost.
  if (auto same = is_committed_in_store(to, id, sealed->text); !same) return same.error();
  mirrored.was_committed = true;
  return mirrored;
}

}  // namespace ratoon::checkpoint
