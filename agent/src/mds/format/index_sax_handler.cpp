#include "agent/src/mds/format/index_sax_handler.h"

#include <algorithm>

namespace ratoon::mds {
namespace {

constexpr std::size_t kUnknownKeyDepthMax = 64;  // below an unknown key
constexpr std::size_t kColumnsMax = 4096;        // also of hashes: limits the memory that an index takes
constexpr std::size_t kTextBytesMax = 4096;

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 60;
  return "'" + std::string(text.substr(0, kShown)) + (text.size() > kShown ? "...'" : "'");
}

}  // namespace

const IndexSaxHandler::Key IndexSaxHandler::kKeys[] = {
    {At::kIndex, "shards", At::kShards},
    {At::kIndex, "version", At::kVersion},
    {At::kShard, "column_encodings", At::kEncodings},
    {At::kShard, "column_names", At::kNames},
    {At::kShard, "column_sizes", At::kSizes},
    {At::kShard, "compression", At::kCompression},
    {At::kShard, "format", At::kFormat},
    {At::kShard, "hashes", At::kHashNames},
    {At::kShard, "raw_data", At::kRaw},
    {At::kShard, "samples", At::kSamples},
    {At::kShard, "version", At::kShardVersion},
    {At::kShard, "zip_data", At::kZip},
    {At::kRaw, "basename", At::kBasename},
    {At::kRaw, "bytes", At::kBytes},
    {At::kRaw, "hashes", At::kHashes},
    {At::kZip, "basename", At::kBasename},
    {At::kZip, "bytes", At::kBytes},
    {At::kZip, "hashes", At::kHashes},
};

const char* IndexSaxHandler::name_of(At at) {
  for (const Key& key : kKeys) {
    if (key.value_position == at) return key.name;
  }
  return at == At::kHash ? "hashes" : at == At::kShard ? "shards" : "the index";
}

bool IndexSaxHandler::is_list(At at) const {
  return at == At::kShards || at == At::kNames || at == At::kEncodings || at == At::kSizes ||
         at == At::kHashNames;
}

bool IndexSaxHandler::is_object(At at) const {
  return at == At::kIndex || at == At::kShard || at == At::kRaw || at == At::kZip || at == At::kHashes;
}

bool IndexSaxHandler::record_error(const Error& error) {
  if (!problem_) problem_ = error;
  return false;
}

bool IndexSaxHandler::report_unexpected(At at, std::string_view found) {
  const std::string where =
      open_levels_.size() > 1 && has_shards_ ? "shard " + std::to_string(shard_count_) + ": " : "";
  return record_error(Error(ErrorKind::kInvalid, where + "there is " + quoted(found) + " in '" + name_of(at) +
                                                     "', which is not allowed there"));
}

bool IndexSaxHandler::close_level() {
  open_levels_.pop_back();
  return true;
}

// Records an error if the current key of the index cannot have a scalar. Ignores values of unknown keys.
bool IndexSaxHandler::handle_scalar(std::string_view found) {
  if (open_levels_.back().at != At::kOther) return report_unexpected(open_levels_.back().at, found);
  return unknown_key_depth_ > 0 || close_level();
}

bool IndexSaxHandler::null() {
  const Level at = open_levels_.back();
  if (at.is_open && at.at == At::kSizes) return shard_.sizes.emplace_back(), true;
  if (!at.is_open && at.at == At::kZip) return shard_.zip.reset(), close_level();
  if (!at.is_open && at.at == At::kCompression) return shard_.compression.clear(), close_level();
  return handle_scalar("null");
}

bool IndexSaxHandler::number_unsigned(json::number_unsigned_t value) {
  const Level at = open_levels_.back();
  if (at.is_open && at.at == At::kSizes) {
    if (shard_.sizes.size() == kColumnsMax) return report_unexpected(at.at, "more sizes than columns");
    return shard_.sizes.emplace_back(value), true;
  }
  if (at.at == At::kVersion) return version_ = value, close_level();
  if (at.at == At::kShardVersion) return shard_.version = value, close_level();
  if (at.at == At::kSamples) return shard_.samples = value, close_level();
  if (at.at == At::kBytes) return current_file().size_bytes = value, close_level();
  return handle_scalar(std::to_string(value));
}

bool IndexSaxHandler::string(std::string& value) {
  const Level at = open_levels_.back();
  if (at.at != At::kOther && value.size() > kTextBytesMax) return report_unexpected(at.at, value);
  if (at.is_open && is_list(at.at) && at.at != At::kShards && at.at != At::kSizes) {
    auto& list = at.at == At::kNames       ? shard_.names
                 : at.at == At::kEncodings ? shard_.encodings
                                           : shard_.hash_names;
    if (list.size() == kColumnsMax) return report_unexpected(at.at, value);
    return list.push_back(value), true;
  }
  if (at.at == At::kCompression) return shard_.compression = value, close_level();
  if (at.at == At::kFormat) return shard_.format = value, close_level();
  if (at.at == At::kBasename) return current_file().basename = value, close_level();
  if (at.at == At::kHash) return current_file().hashes.back().digest = value, close_level();
  return handle_scalar(value);
}

bool IndexSaxHandler::start_object(std::size_t) {
  Level& at = open_levels_.back();
  if (at.at == At::kOther)
    return ++unknown_key_depth_ <= kUnknownKeyDepthMax ||
           report_unexpected(at.at, "an object nested too deeply");
  if (at.at == At::kShards && at.is_open) {
    shard_ = UncheckedShard();
    return open_levels_.push_back({At::kShard, true}), true;
  }
  if (!is_object(at.at) || at.is_open) return report_unexpected(at.at, "{");
  at.is_open = true;
  return true;
}

bool IndexSaxHandler::end_object() {
  const At at = open_levels_.back().at;
  if (at == At::kOther) return --unknown_key_depth_ > 0 || close_level();
  if (at == At::kShard) {
    if (const auto taken = handlers_.take_shard(shard_); !taken)
      return record_error(taken.error().with_context("shard " + std::to_string(shard_count_)));
    ++shard_count_;
  }
  if (at == At::kIndex) {
    if (!has_shards_) return record_error(Error(ErrorKind::kInvalid, "the index has no list 'shards'"));
    if (const auto taken = handlers_.take_end(version_); !taken) return record_error(taken.error());
  }
  return close_level();
}

bool IndexSaxHandler::start_array(std::size_t) {
  Level& at = open_levels_.back();
  if (at.at == At::kOther)
    return ++unknown_key_depth_ <= kUnknownKeyDepthMax ||
           report_unexpected(at.at, "a list nested too deeply");
  if (!is_list(at.at) || at.is_open) return report_unexpected(at.at, "[");
  at.is_open = true;
  return true;
}

bool IndexSaxHandler::end_array() {
  if (open_levels_.back().at == At::kOther) return --unknown_key_depth_ > 0 || close_level();
  return close_level();
}

bool IndexSaxHandler::key(std::string& name) {
  const At in = open_levels_.back().at;
  if (in == At::kOther) return true;
  if (in == At::kHashes) {
    if (current_file().hashes.size() == kColumnsMax) return report_unexpected(in, name);
    current_file().hashes.push_back({.algorithm = name, .digest = ""});
    return open_levels_.push_back({At::kHash}), true;
  }
  At to = At::kOther;
  for (const Key& key : kKeys) {
    if (key.in == in && name == key.name) to = key.value_position;
  }
  if (to == At::kShards) {
    if (has_shards_) return report_unexpected(in, "a second list of shards");
    has_shards_ = true;
  }
  // If a key occurs twice, the last value counts, as in Python.
  if (to == At::kNames) shard_.names.clear();
  if (to == At::kEncodings) shard_.encodings.clear();
  if (to == At::kSizes) shard_.sizes.clear();
  if (to == At::kHashNames) shard_.hash_names.clear();
  if (to == At::kHashes) current_file().hashes.clear();
  if (to == At::kRaw || to == At::kZip) {
    is_in_zip_data_ = to == At::kZip;
    (is_in_zip_data_ ? shard_.zip : shard_.raw).emplace();
  }
  return open_levels_.push_back({to}), true;
}

bool IndexSaxHandler::parse_error(std::size_t, const std::string&, const json::exception& error) {
  std::string text = error.what();
  if (const auto end = text.find("] "); end != std::string::npos) text = text.substr(end + 2);
  constexpr std::size_t kShown = 200;
  return record_error(
      Error(ErrorKind::kInvalid,
            "the index is not valid JSON: " + text.substr(0, std::min(text.find("; last read:"), kShown))));
}

}  // namespace ratoon::mds
