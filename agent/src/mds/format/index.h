// mds/format/: Reads and writes the MDS format of MosaicML Streaming: index, shards, compression and hashes.
// The functions are pure.
//
// Parses index.json of a data set in MDS format, version 2. This file lists the shards, their order and
// contents. The parser checks every value on which readers of shards rely. It refuses file names that lead
// out of the folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/mds/format/columns.h"
#include "agent/src/mds/format/compression.h"
#include "agent/src/mds/format/hash.h"

namespace ratoon::mds {

struct FileInfo {
  std::string basename;  // may contain '/' if indexes were merged
  std::uint64_t size_bytes = 0;
  std::vector<FileHash> hashes{};  // sorted by algorithm

  friend bool operator==(const FileInfo&, const FileInfo&) = default;
};

struct ShardInfo {
  std::uint32_t source = 0;  // index of the data set's folder that contains it
  std::uint32_t samples = 0;
  FileInfo raw;
  std::optional<FileInfo> zip{};  // the compressed file, by `compression`
  CompressionKind compression = CompressionKind::kNone;

  friend bool operator==(const ShardInfo&, const ShardInfo&) = default;
};

struct Index {
  Columns columns;  // of all shards
  std::vector<ShardInfo> shards;
};

[[nodiscard]] Result<Index> parse_index(std::string_view text);

// Appends the shards of `more`, which are in the data set's folder number `source`, to the shards of `index`.
[[nodiscard]] Result<void> append_shards(Index& index, Index more, std::uint32_t source);

// Returns true if a file name cannot lead out of its folder: it is relative, and no part of it is empty, "."
// or "..".
[[nodiscard]] bool is_safe_basename(std::string_view basename);

}  // namespace ratoon::mds
