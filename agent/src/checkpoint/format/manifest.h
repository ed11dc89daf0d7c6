// checkpoint/format/: The texts and names of a run's folder as values. Pure.
//
// Receipts and manifests as values. A receipt states that the pack of one rank is on the disk. A manifest
// names every pack and is the commit: a checkpoint without a manifest does not exist.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/format/file_names.h"
#include "agent/src/checkpoint/format/run_record.h"

namespace ratoon::checkpoint {

struct PackRecord {
  Rank rank{0};
  std::uint64_t size_bytes = 0;    // of the file
  std::uint64_t header_bytes = 0;  // of its header, at the beginning of the file
  std::string header_digest{};     // XXH3-128 of the header, which holds the checksums of all other bytes
  std::string owner{};             // identity of the job that wrote it; empty: not recorded
  // The run record is set in the receipt of rank 0, from which the manifest takes it. Another rank's receipt
  // has a record only if that rank has requests: the manifest contains the requests of all ranks.
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

// A message that names two packs of different jobs; empty if all packs are of one job. A pack without an
// owner fits any job.
[[nodiscard]] std::optional<std::string> find_two_owners(std::span<const PackRecord> packs);
// The owner of the first pack that has an owner; empty if no pack has one.
[[nodiscard]] std::string owner_of(std::span<const PackRecord> packs);

// The texts of receipts and manifests end with a line that holds the CRC32C of everything before it.
[[nodiscard]] std::string encode_receipt(const PackRecord& receipt);
[[nodiscard]] Result<PackRecord> decode_receipt(std::string_view text);
[[nodiscard]] std::string encode_manifest(const Manifest& manifest);
// Returns kCorrupted if the manifest's packs are of two jobs.
[[nodiscard]] Result<Manifest> decode_manifest(std::string_view text);

}  // namespace ratoon::checkpoint
