// checkpoint/format/: Encodes and decodes the text files in a run's folder and the names of its files. The
// functions are pure: they access no file.
//
// Receipts and manifests as C++ values, with functions that encode and decode their files. A receipt states
// that the pack of one rank is on the disk. A manifest names every pack of a checkpoint, and creating it
// commits the checkpoint: without a manifest the checkpoint does not exist.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/format/file_names.h"
#include "agent/src/checkpoint/format/run_record.h"
#include "agent/src/checkpoint/format/tensor_in_parts.h"

namespace ratoon::checkpoint {

struct PackRecord {
  Rank rank{0};
  std::uint64_t size_bytes = 0;    // of the file
  std::uint64_t header_bytes = 0;  // of its header, at the beginning of the file
  std::string header_digest{};     // XXH3-128 of the header, which holds the checksums of all other bytes
  std::string owner{};             // identity of the job that wrote it; empty: not recorded
  std::vector<TensorInParts> tensors_in_parts{};  // tensors of the rank whose bytes are in part files
  // The committed checkpoint from whose record the save took the part files that it did not write; empty if
  // the save wrote all its part files.
  std::optional<CheckpointId> parts_base_checkpoint{};
  // Only the receipt of rank 0 has the whole run record (progress, counts and times), and rank 0 copies it
  // into the manifest. The receipt of another rank has a run record only if that rank requests a save, a pin
  // or the end of the run, so that rank 0 can add the requests to the manifest.
  std::optional<RunRecord> run{};

  friend bool operator==(const PackRecord&, const PackRecord&) = default;
};

struct Manifest {
  CheckpointId id;
  std::string writer{};            // "ratoon 0.1.0"
  std::vector<PackRecord> packs;   // in rank order; as many as the world had ranks
  std::optional<RunRecord> run{};  // empty if the writer did not record it

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

inline constexpr std::uint64_t kManifestBytesMax = 64ULL << 20;  // of a manifest, and of a receipt

inline constexpr std::size_t kOwnerBytesMax = 200;

// Returns an error message that names two packs which different jobs wrote, or nothing if one job wrote all
// packs. A pack without a recorded owner may belong to any job.
[[nodiscard]] std::optional<std::string> find_two_owners(std::span<const PackRecord> packs);
// Returns the owner (the identity of a job) of the first pack that has one; returns an empty text if no pack
// has an owner.
[[nodiscard]] std::string owner_of(std::span<const PackRecord> packs);

// The texts of receipts and manifests end with a line that holds the CRC32C of everything before it.
[[nodiscard]] std::string encode_receipt(const PackRecord& receipt);
[[nodiscard]] Result<PackRecord> decode_receipt(std::string_view text);
[[nodiscard]] std::string encode_manifest(const Manifest& manifest);
// Decodes a manifest; returns kCorrupted if two jobs wrote its packs.
[[nodiscard]] Result<Manifest> decode_manifest(std::string_view text);

}  // namespace ratoon::checkpoint
