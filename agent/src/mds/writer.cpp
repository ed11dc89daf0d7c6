#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>

#include <ratoon/atomic_file.h>
#include <ratoon/failure.h>
#include <ratoon/mds_writer.h>

#include "agent/src/mds/format/columns.h"
#include "agent/src/mds/format/compression.h"
#include "agent/src/mds/format/hash.h"
#include "agent/src/mds/format/python_text.h"
#include "agent/src/mds/format/shard_builder.h"
#include "agent/src/mds/format/values/encode.h"
#include "base/contract/exit_code.h"
#include "base/core/durable_folder.h"
#include "base/core/utf8.h"

namespace ratoon {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw std::invalid_argument("MdsWriter: " + result.error().message());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

void throw_if_not_stored(const Result<void>& result) {
  if (!result) throw Failure(static_cast<int>(ExitCode::kStorage), result.error().message());
}

// Sorts columns by code points, which is the order of their UTF-8 bytes.
mds::Columns make_columns(std::vector<std::pair<std::string, std::string>> given) {
  if (given.empty()) throw std::invalid_argument("MdsWriter: the data set needs at least one column");
  std::sort(given.begin(), given.end());
  std::vector<std::string> names, encodings;
  for (auto& [name, encoding] : given) {
    if (!is_utf8(std::as_bytes(std::span(name))))
      throw std::invalid_argument("MdsWriter: a column's name is not UTF-8");
    names.push_back(std::move(name));
    encodings.push_back(std::move(encoding));
  }
  std::vector<std::optional<std::uint32_t>> sizes;
  for (const auto& name : encodings) {
    const auto encoding = mds::parse_encoding(name);
    sizes.push_back(encoding && encoding->size_bytes != 0 ? std::optional(encoding->size_bytes)
                                                          : std::nullopt);
  }
  return value_or_throw(mds::Columns::make(std::move(names), encodings, sizes));
}

mds::Compression make_compression(const std::string& name) {
  if (name.empty()) return {};
  const mds::Compression compression = value_or_throw(mds::parse_compression(name));
  value_or_throw(mds::compress(compression, ""));  // fails now if the compression cannot be written
  return compression;
}

// Makes the configuration that MosaicML Streaming calls "config". It is written into each shard and into the
// entry of each shard in the index.
json make_config(const mds::Columns& columns, const MdsWriterOptions& options) {
  json names = json::array(), encodings = json::array(), sizes = json::array();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    names.push_back(columns.dataset_columns()[i].name);
    encodings.push_back(columns.encodings()[i].name);
    sizes.push_back(columns.sizes()[i] == 0 ? json() : json(columns.sizes()[i]));
  }
  return {{"column_encodings", std::move(encodings)},
          {"column_names", std::move(names)},
          {"column_sizes", std::move(sizes)},
          {"compression", options.compression.empty() ? json() : json(options.compression)},
          {"format", "mds"},
          {"hashes", options.hashes},
          {"size_limit", options.size_limit_bytes == 0 ? json() : json(options.size_limit_bytes)},
          {"version", 2}};
}

MdsWriterOptions check_options(MdsWriterOptions options) {
  if (options.size_limit_bytes >= std::uint64_t{1} << 32)
    throw std::invalid_argument("MdsWriter: size_limit_bytes must be below 2^32, since offsets have 32 bits");
  std::sort(options.hashes.begin(), options.hashes.end());
  if (std::adjacent_find(options.hashes.begin(), options.hashes.end()) != options.hashes.end())
    throw std::invalid_argument("MdsWriter: a hash is named twice");
  for (const auto& name : options.hashes) value_or_throw(mds::hash_of(name, {}));
  return options;
}

}  // namespace

struct MdsWriter::Parts {
  Parts(fs::path where, std::vector<std::pair<std::string, std::string>> given, MdsWriterOptions wanted)
      : folder(std::move(where)),
        columns(make_columns(std::move(given))),
        options(check_options(std::move(wanted))),
        compression(make_compression(options.compression)),
        config(make_config(columns, options)),
        builder(mds::format_python_json(config), options.size_limit_bytes) {}

  std::size_t find(std::string_view name) const;
  void encode(std::span<const Value> given);
  json save(const std::string& basename, std::string_view bytes, bool is_stored) const;
  void flush();

  const fs::path folder;
  const mds::Columns columns;
  const MdsWriterOptions options;
  const mds::Compression compression;
  const json config;
  mds::ShardBuilder builder;
  json shards = json::array();
  std::vector<const MdsValue*> values;  // of the current sample, in the order of the columns
  std::string sample, body;
  bool is_over = false;  // no further samples: finished, or a shard could not be stored
};

std::size_t MdsWriter::Parts::find(std::string_view name) const {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns.dataset_columns()[i].name == name) return i;
  }
  throw std::invalid_argument("MdsWriter: there is no column '" + std::string(name) + "'");
}

// Encodes a sample into `sample`: first the sizes of the columns of variable size, and then the bytes of all
// columns.
void MdsWriter::Parts::encode(std::span<const Value> given) {
  values.assign(columns.size(), nullptr);
  for (const Value& value : given) {
    const MdsValue*& place = values[find(value.column)];
    if (place != nullptr)
      throw std::invalid_argument("MdsWriter: column '" + std::string(value.column) + "' has two values");
    place = &value.value;
  }
  sample.clear();
  body.clear();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string& name = columns.dataset_columns()[i].name;
    if (values[i] == nullptr) throw std::invalid_argument("MdsWriter: column '" + name + "' has no value");
    const std::size_t before = body.size();
    if (const auto encoded = mds::encode_value(columns.encodings()[i], *values[i], body); !encoded)
      throw std::invalid_argument("MdsWriter: column '" + name + "': " + encoded.error().message());
    if (body.size() >= std::uint64_t{1} << 32)
      throw std::invalid_argument("MdsWriter: a sample must have less than 2^32 bytes");
    const auto size = static_cast<std::uint32_t>(body.size() - before);
    if (columns.sizes()[i] == 0) sample.append(reinterpret_cast<const char*>(&size), sizeof size);
  }
  sample += body;
}

json MdsWriter::Parts::save(const std::string& basename, std::string_view bytes, bool is_stored) const {
  json hashes = json::object();
  for (const auto& name : options.hashes)
    hashes[name] = value_or_throw(mds::hash_of(name, std::as_bytes(std::span(bytes))));
  if (is_stored) throw_if_not_stored(save_file_atomically(folder / basename, bytes));
  return {{"basename", basename}, {"bytes", bytes.size()}, {"hashes", std::move(hashes)}};
}

void MdsWriter::Parts::flush() {
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "shard.%05zu.mds", shards.size());
  is_over = true;  // until the shard is stored
  json shard = config;
  shard["samples"] = builder.samples();
  const std::string raw = builder.take_shard_file();
  const bool is_compressed = compression.kind != mds::CompressionKind::kNone;
  shard["raw_data"] = save(name.data(), raw, !is_compressed);
  shard["zip_data"] = nullptr;
  if (is_compressed) {
    const std::string zip = value_or_throw(mds::compress(compression, raw));
    shard["zip_data"] =
        save(std::string(name.data()) + "." + std::string(mds::extension_of(compression.kind)), zip, true);
  }
  shards.push_back(std::move(shard));
  is_over = false;
}

MdsWriter::MdsWriter(fs::path folder, std::vector<std::pair<std::string, std::string>> columns,
                     MdsWriterOptions options)
    : impl_(std::make_unique<Parts>(std::move(folder), std::move(columns), std::move(options))) {
  throw_if_not_stored(create_folders(impl_->folder));
  std::error_code ignored;
  if (!fs::is_directory(impl_->folder, ignored))
    throw Failure(static_cast<int>(ExitCode::kStorage), impl_->folder.string() + " is no folder");
  if (fs::exists(impl_->folder / "index.json", ignored)) {
    throw Failure(
        static_cast<int>(ExitCode::kStorage),
        (impl_->folder / "index.json").string() + " exists already: write to another folder, or remove it");
  }
}

MdsWriter::~MdsWriter() = default;

void MdsWriter::write(std::span<const Value> sample) {
  if (impl_->is_over) throw std::invalid_argument("MdsWriter: finish() was called, or a write has failed");
  impl_->encode(sample);
  if (impl_->builder.is_full_for(impl_->sample.size())) impl_->flush();
  value_or_throw(impl_->builder.add(impl_->sample));
}

void MdsWriter::finish() {
  if (impl_->is_over) throw std::invalid_argument("MdsWriter: finish() was called, or a write has failed");
  if (impl_->builder.samples() > 0) impl_->flush();
  impl_->is_over = true;
  const std::string index = mds::format_python_json({{"shards", impl_->shards}, {"version", 2}});
  throw_if_not_stored(save_file_atomically(impl_->folder / "index.json", index));
}

}  // namespace ratoon
