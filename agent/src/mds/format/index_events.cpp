#include "agent/src/mds/format/index_events.h"

#include <algorithm>

namespace ratoon::mds {
namespace {

constexpr std::size_t kDepthMax = 64;      // below an unknown key
constexpr std::size_t kColumnsMax = 4096;  // and hashes: limits memory for a hostile text
constexpr std::size_t kTextBytesMax = 4096;

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 60;
  return "'" + std::string(text.substr(0, kShown)) + (text.size() > kShown ? "...'" : "'");
}

}  // namespace

const IndexEvents::Key IndexEvents::kKeys[] = {
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

const char* IndexEvents::name_of(At at) {
  for (const Key& key : kKeys) {
    if (key.leads_to == at) return key.name;
  }
  return at == At::kHash ? "hashes" : at == At::kShard ? "shards" : "the index";
}

bool IndexEvents::is_list(At at) const {
  return at == At::kShards || at == At::kNames || at == At::kEncodings || at == At::kSizes ||
         at == At::kHashNames;
}

bool IndexEvents::is_object(At at) const {
  return at == At::kIndex || at == At::kShard || at == At::kRaw || at == At::kZip || at == At::kHashes;
}

bool IndexEvents::fail(const Error& error) {
  if (!problem_) problem_ = error;
  return false;
}

bool IndexEvents::complain(At at, std::string_view found) {
  const std::string where =
      open_levels_.size() > 1 && has_shards_ ? "shard " + std::to_string(shards_) + ": " : "";
  return fail(Error(ErrorKind::kInvalid, where + "there is " + quoted(found) + " in '" + name_of(at) +
                                             "', which is not allowed there"));
}

bool IndexEvents::pop() {
  open_levels_.pop_back();
  return true;
}

// Returns an error for a value of a type that no key of the index has.
bool IndexEvents::scalar(std::string_view found) {
  if (open_levels_.back().at != At::kOther) return complain(open_levels_.back().at, found);
  return depth_of_other_ > 0 || pop();
}

bool IndexEvents::null() {
  const Level at = open_levels_.back();
  if (at.is_open && at.at == At::kSizes) return shard_.sizes.emplace_back(), true;
  if (!at.is_open && at.at == At::kZip) return shard_.zip.reset(), pop();
  if (!at.is_open && at.at == At::kCompression) return shard_.compression.clear(), pop();
  return scalar("null");
}

bool IndexEvents::number_unsigned(json::number_unsigned_t value) {
  const Level at = open_levels_.back();
  if (at.is_open && at.at == At::kSizes) {
    if (shard_.sizes.size() == kColumnsMax) return complain(at.at, "more sizes than columns");
    return shard_.sizes.emplace_back(value), true;
  }
  if (at.at == At::kVersion) return version_ = value, pop();
  if (at.at == At::kShardVersion) return shard_.version = value, pop();
  if (at.at == At::kSamples) return shard_.samples = value, pop();
  if (at.at == At::kBytes) return file().size_bytes = value, pop();
  return scalar(std::to_string(value));
}

bool IndexEvents::string(std::string& value) {
  const Level at = open_levels_.back();
  if (at.at != At::kOther && value.size() > kTextBytesMax) return complain(at.at, value);
  if (at.is_open && is_list(at.at) && at.at != At::kShards && at.at != At::kSizes) {
    auto& list = at.at == At::kNames       ? shard_.names
                 : at.at == At::kEncodings ? shard_.encodings
                                           : shard_.hash_names;
    if (list.size() == kColumnsMax) return complain(at.at, value);
    return list.push_back(value), true;
  }
  if (at.at == At::kCompression) return shard_.compression = value, pop();
  if (at.at == At::kFormat) return shard_.format = value, pop();
  if (at.at == At::kBasename) return file().basename = value, pop();
  if (at.at == At::kHash) return file().hashes.back().digest = value, pop();
  return scalar(value);
}

bool IndexEvents::start_object(std::size_t) {
  Level& at = open_levels_.back();
  if (at.at == At::kOther)
    return ++depth_of_other_ <= kDepthMax || complain(at.at, "an object nested too deeply");
  if (at.at == At::kShards && at.is_open) {
    shard_ = RawShard();
    return open_levels_.push_back({At::kShard, true}), true;
  }
  if (!is_object(at.at) || at.is_open) return complain(at.at, "{");
  at.is_open = true;
  return true;
}

bool IndexEvents::end_object() {
  const At at = open_levels_.back().at;
  if (at == At::kOther) return --depth_of_other_ > 0 || pop();
  if (at == At::kShard) {
    if (const auto taken = handlers_.take_shard(shard_); !taken)
      return fail(taken.error().with_context("shard " + std::to_string(shards_)));
    ++shards_;
  }
  if (at == At::kIndex) {
    if (!has_shards_) return fail(Error(ErrorKind::kInvalid, "the index has no list 'shards'"));
    if (const auto taken = handlers_.take_end(version_); !taken) return fail(taken.error());
  }
  return pop();
}

bool IndexEvents::start_array(std::size_t) {
  Level& at = open_levels_.back();
  if (at.at == At::kOther)
    return ++depth_of_other_ <= kDepthMax || complain(at.at, "a list nested too deeply");
  if (!is_list(at.at) || at.is_open) return complain(at.at, "[");
  at.is_open = true;
  return true;
}

bool IndexEvents::end_array() {
  if (open_levels_.back().at == At::kOther) return --depth_of_other_ > 0 || pop();
  return pop();
}

bool IndexEvents::key(std::string& name) {
  const At in = open_levels_.back().at;
  if (in == At::kOther) return true;
  if (in == At::kHashes) {
    if (file().hashes.size() == kColumnsMax) return complain(in, name);
    file().hashes.push_back({.algorithm = name, .digest = ""});
    return open_levels_.push_back({At::kHash}), true;
  }
  At to = At::kOther;
  for (const Key& key : kKeys) {
    if (key.in == in && name == key.name) to = key.leads_to;
  }
  if (to == At::kShards) {
    if (has_shards_) return complain(in, "a second list of shards");
    has_shards_ = true;
  }
  // If a key occurs twice, the last value counts, as in Python.
  if (to == At::kNames) shard_.names.clear();
  if (to == At::kEncodings) shard_.encodings.clear();
  if (to == At::kSizes) shard_.sizes.clear();
  if (to == At::kHashNames) shard_.hash_names.clear();
  if (to == At::kHashes) file().hashes.clear();
  if (to == At::kRaw || to == At::kZip) {
    is_zip_ = to == At::kZip;
    (is_zip_ ? shard_.zip : shard_.raw).emplace();
  }
  return open_levels_.push_back({to}), true;
}

bool IndexEvents::parse_error(std::size_t, const std::string&, const json::exception& error) {
  std::string text = error.what();
  if (const auto end = text.find("] "); end != std::string::npos) text = text.substr(end + 2);
  constexpr std::size_t kShown = 200;
  return fail(Error(ErrorKind::kInvalid, "the index is not valid JSON: " +
                                             text.substr(0, std::min(text.find("; last read:"), kShown))));
}

}  // namespace ratoon::mds
