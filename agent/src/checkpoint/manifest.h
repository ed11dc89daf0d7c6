// Receipts and manifests as values. A receipt is one rank's word that its pack is on the disk; a manifest
// names every pack and is the commit: a checkpoint without one does not exist.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/file_names.h"
#include "agent/src/checkpoint/run_record.h"

namespace ratoon::checkpoint {

struct PackRecord {
  Rank rank{0};
  std::uint64_t size_bytes = 0;    // of the file
  std::uint64_t header_bytes = 0;  // the first so many bytes of it
  std::string header_digest{};     // XXH3-128 of those; they hold the sums of all others
  std::string owner{};             // identity of the job that wrote it; empty: the writer did not say
  // In the receipt of rank 0, from where the manifest takes it; in that of another rank only where it has
  // wishes, which the manifest has from all.
  std::optional<RunRecord> run{};

  friend bool operator==(const PackRecord&, const PackRecord&) = default;
};

struct Manifest {
  CheckpointId id;
  std::string writer{};            // "ratoon 0.1.0"
  std::vector<PackRecord> packs;   // in rank order; as many as the world had ranks
  std::optional<RunRecord> run{};  // nothing where whoever wrote it did not say

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

inline constexpr std::uint64_t kManifestBytesMax = 64ULL << 20;  // of a manifest, and of a receipt

inline constexpr std::size_t kOwnerBytesMax = 200;

// Two packs that two jobs wrote; the sentence names both. Packs without an owner fit all others.
[[nodiscard]] std::optional<std::string> find_two_owners(std::span<const PackRecord> packs);
// The owner that packs name, as far as they agree; empty where none names one.
[[nodiscard]] std::string owner_of(std::span<const PackRecord> packs);

// Both texts end with a line that holds the CRC32C of everything before it.
[[nodiscard]] std::string encode_receipt(const PackRecord& receipt);
[[nodiscard]] Result<PackRecord> decode_receipt(std::string_view text);
[[nodiscard]] std::string encode_manifest(const Manifest& manifest);
// kCorrupted where its packs are of two jobs.
[[nodiscard]] Result<Manifest> decode_manifest(std::string_view text);

}  // namespace ratoon::checkpoint
