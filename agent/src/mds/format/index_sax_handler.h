// Builds a list of shards from the events of a JSON parser that reads index.json. The index is not parsed
// into a tree of JSON values, because an index of 100,000 shards has some 60 MB.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <ratoon/result.h>

#include "agent/src/mds/format/index.h"

namespace ratoon::mds {

// A shard as index.json describes it; nothing is checked yet.
struct UncheckedShard {
  std::vector<std::string> names, encodings, hash_names;
  std::vector<std::optional<std::uint64_t>> sizes;
  std::string compression, format;
  std::optional<std::uint64_t> version, samples;
  std::optional<FileInfo> raw, zip;
};

class IndexSaxHandler {
 public:
  using json = nlohmann::json;

  struct Handlers {
    std::function<Result<void>(UncheckedShard&)> take_shard;  // may move out of it
    std::function<Result<void>(std::optional<std::uint64_t> version)> take_end;
  };
  explicit IndexSaxHandler(Handlers handlers) : handlers_(std::move(handlers)) {}

  // Returns the first error in the index, if there was one.
  [[nodiscard]] const std::optional<Error>& problem() const { return problem_; }

  // nlohmann::json::sax_parse() calls the following functions, one for each event. Parsing ends when a
  // function for an event returns false.
  bool null();
  bool boolean(bool value) { return handle_scalar(value ? "true" : "false"); }
  bool number_integer(json::number_integer_t value) { return handle_scalar(std::to_string(value)); }
  bool number_unsigned(json::number_unsigned_t value);
  bool number_float(json::number_float_t, const std::string& text) { return handle_scalar(text); }
  bool string(std::string& value);
  bool binary(json::binary_t&) { return false; }  // JSON has none
  bool start_object(std::size_t);
  bool end_object();
  bool start_array(std::size_t);
  bool end_array();
  bool key(std::string& name);
  bool parse_error(std::size_t position, const std::string& last, const json::exception& error);

 private:
  enum class At : std::uint8_t {
    kIndex,
    kVersion,
    kShards,
    kShard,
    kNames,
    kEncodings,
    kSizes,
    kHashNames,
    kCompression,
    kFormat,
    kShardVersion,
    kSamples,
    kRaw,
    kZip,
    kBasename,
    kBytes,
    kHashes,
    kHash,
    kOther,
  };
  struct Level {
    At at;
    bool is_open = false;  // its '{' or '[' was read
  };
  struct Key {
    At in;
    const char* name;
    At value_position;
  };
  static const Key kKeys[];
  static const char* name_of(At at);

  bool close_level();
  bool handle_scalar(std::string_view found);
  bool report_unexpected(At at, std::string_view found);
  bool record_error(const Error& error);
  bool is_list(At at) const;
  bool is_object(At at) const;
  FileInfo& current_file() { return is_in_zip_data_ ? *shard_.zip : *shard_.raw; }

  Handlers handlers_;
  std::vector<Level> open_levels_{
      {At::kIndex}};                   // the open levels, outermost first; empty after the last '}'
  std::size_t unknown_key_depth_ = 0;  // below an unknown key
  UncheckedShard shard_;
  bool is_in_zip_data_ = false;
  std::uint64_t shard_count_ = 0;
  bool has_shards_ = false;
  std::optional<std::uint64_t> version_;
  std::optional<Error> problem_;
};

}  // namespace ratoon::mds
