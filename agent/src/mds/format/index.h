// index.json of a data set in MDS format, version 2: which shards there are, in which order, and what is in
// them. Everything that a reader relies on is checked here; names of files lead nowhere but into the folder.
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
  std::string basename;  // may hold '/' where indexes were merged
  std::uint64_t size_bytes = 0;
  std::vector<FileHash> hashes{};  // in the order of their names

  friend bool operator==(const FileInfo&, const FileInfo&) = default;
};

struct ShardInfo {
  std::uint32_t source = 0;  // which of the data set's folders it is in
  std::uint32_t samples = 0;
  FileInfo raw;
  std::optional<FileInfo> zip{};  // compressed, by `compression`
  CompressionKind compression = CompressionKind::kNone;

  friend bool operator==(const ShardInfo&, const ShardInfo&) = default;
};

struct Index {
  Columns columns;  // of all shards
  std::vector<ShardInfo> shards;
};

[[nodiscard]] Result<Index> parse_index(std::string_view text);

// Adds the shards of `more`, which are in the folder number `source`, behind those of `index`.
[[nodiscard]] Result<void> append(Index& index, Index more, std::uint32_t source);

// Whether a file of that name is below the folder it is looked for in: relative, without ".." or a part that
// is empty.
[[nodiscard]] bool is_safe_basename(std::string_view basename);

}  // namespace ratoon::mds
