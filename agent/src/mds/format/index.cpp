#include "agent/src/mds/format/index.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "agent/src/mds/format/index_sax_handler.h"

namespace ratoon::mds {
namespace {

constexpr std::uint64_t kVersion = 2;
constexpr std::uint64_t kIndexNumberMax = std::numeric_limits<std::uint32_t>::max();

Error invalid_index_error(const std::string& what) {
  return Error(ErrorKind::kInvalid, what);
}

Result<void> check_version(std::optional<std::uint64_t> version) {
  if (version == kVersion) return {};
  return invalid_index_error("the version is " + (version ? std::to_string(*version) : "missing") +
                             ", but only version 2 is supported");
}

Result<void> check_file(FileInfo& file, const char* what, const std::vector<std::string>& hash_names) {
  if (!is_safe_basename(file.basename)) {
    return invalid_index_error(std::string(what) + " is called '" + file.basename +
                               "'; a name must be relative, with no part that is empty or '..'");
  }
  // A shard must have less than 2^32 bytes, because offsets in a shard have 32 bits. The limit also applies
  // to a compressed shard.
  if (file.size_bytes > kIndexNumberMax)
    return invalid_index_error(file.basename + " is given " + std::to_string(file.size_bytes) +
                               " bytes, but a shard has less than 2^32");
  std::sort(file.hashes.begin(), file.hashes.end(),
            [](const FileHash& a, const FileHash& b) { return a.algorithm < b.algorithm; });
  for (const FileHash& hash : file.hashes) {
    const auto digits = digest_digit_count(hash.algorithm);
    if (!digits) return unknown_hash_error(hash.algorithm);
    const bool is_hex = hash.digest.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (hash.digest.size() != *digits || !is_hex) {
      return invalid_index_error("the " + hash.algorithm + " of " + file.basename + " is '" + hash.digest +
                                 "', but must be " + std::to_string(*digits) +
                                 " lower-case hexadecimal digits");
    }
  }
  for (const std::string& name : hash_names) {
    const auto has_name = [&](const FileHash& hash) { return hash.algorithm == name; };
    if (std::none_of(file.hashes.begin(), file.hashes.end(), has_name))
      return invalid_index_error("'hashes' lists " + name + ", but " + file.basename + " has no " + name);
  }
  return {};
}

Result<ShardInfo> check_shard(UncheckedShard& said) {
  if (said.format != "mds")
    return invalid_index_error("the format is '" + said.format + "', and only 'mds' is read");
  if (const auto known = check_version(said.version); !known) return known.error();
  if (!said.samples || *said.samples > kIndexNumberMax)
    return invalid_index_error("'samples' must be a number below 2^32");
  if (!said.raw) return invalid_index_error("'raw_data' is missing");
  ShardInfo shard{.samples = static_cast<std::uint32_t>(*said.samples), .raw = std::move(*said.raw)};
  if (const auto sound = check_file(shard.raw, "'raw_data'", said.hash_names); !sound) return sound.error();
  if (!said.compression.empty()) {
    const auto compression = parse_compression(said.compression);
    if (!compression) return compression.error();
    shard.compression = compression->kind;
  }
  if (said.zip.has_value() != (shard.compression != CompressionKind::kNone))
    return invalid_index_error("'compression' and 'zip_data' must both exist, or neither");
  if (said.zip) {
    if (const auto sound = check_file(*said.zip, "'zip_data'", said.hash_names); !sound) return sound.error();
    shard.zip = std::move(said.zip);
  }
  return shard;
}

Result<Columns> make_columns(const UncheckedShard& said) {
  std::vector<std::optional<std::uint32_t>> sizes;
  for (const auto& size : said.sizes) {
    if (size > kIndexNumberMax)
      return invalid_index_error("a column has " + std::to_string(*size) +
                                 " bytes, but a sample has less than 2^32");
    sizes.push_back(size ? std::optional(static_cast<std::uint32_t>(*size)) : std::nullopt);
  }
  return Columns::make(said.names, said.encodings, sizes);
}

// Collects shards, and checks that each shard has the columns of the first shard.
class IndexBuilder {
 public:
  Result<void> add(UncheckedShard& said) {
    if (index_.shards.empty()) {
      auto columns = make_columns(said);
      if (!columns) return columns.error();
      index_.columns = std::move(*columns);
      names_ = said.names;
      encodings_ = said.encodings;
      sizes_ = said.sizes;
    } else if (said.names != names_ || said.encodings != encodings_ || said.sizes != sizes_) {
      return invalid_index_error(
          "the shard's columns are not those of shard 0, but all samples of a data set must have the same "
          "columns");
    }
    auto shard = check_shard(said);
    if (!shard) return shard.error();
    if (!basenames_.insert(shard->raw.basename).second)
      return invalid_index_error(shard->raw.basename + " is listed twice: its samples would be read twice");
    index_.shards.push_back(std::move(*shard));
    return {};
  }

  Index take() { return std::move(index_); }

 private:
  Index index_;
  std::unordered_set<std::string> basenames_;
  std::vector<std::string> names_, encodings_;
  std::vector<std::optional<std::uint64_t>> sizes_;
};

}  // namespace

bool is_safe_basename(std::string_view basename) {
  constexpr std::size_t kBytesMax = 1024;
  if (basename.empty() || basename.size() > kBytesMax) return false;
  if (std::any_of(basename.begin(), basename.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    return false;
  while (true) {
    const std::size_t slash = basename.find('/');
    const std::string_view part = basename.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    basename.remove_prefix(slash + 1);
  }
}

Result<Index> parse_index(std::string_view text) {
  IndexBuilder builder;
  IndexSaxHandler events(
      {.take_shard = [&](UncheckedShard& shard) { return builder.add(shard); }, .take_end = check_version});
  const bool is_read = nlohmann::json::sax_parse(text.begin(), text.end(), &events);
  if (events.problem()) return *events.problem();
  if (!is_read) return invalid_index_error("the index is not valid JSON");
  return builder.take();
}

Result<void> append_shards(Index& index, Index more, std::uint32_t source) {
  if (index.shards.empty()) {
    index.columns = std::move(more.columns);
  } else if (!more.shards.empty() && more.columns != index.columns) {
    return invalid_index_error(
        "the folder's columns are not those of the folders before it, but all samples of a data set must "
        "have the "
        "same columns");
  }
  index.shards.reserve(index.shards.size() + more.shards.size());
  for (ShardInfo& shard : more.shards) {
    shard.source = source;
    index.shards.push_back(std::move(shard));
  }
  return {};
}

}  // namespace ratoon::mds
