#include <array>
#include <filesystem>
#include <stdexcept>

#include <ratoon/failure.h>
#include <ratoon/mds_dataset.h>

#include "agent/src/data/sets/columns.h"
#include "agent/src/mds/format/decode.h"
#include "agent/src/mds/format/digest.h"
#include "agent/src/mds/format/index.h"
#include "agent/src/mds/format/shard.h"
#include "agent/src/mds/open_shards.h"
#include "agent/src/mds/shard_source.h"
#include "agent/src/mds/shard_table.h"
#include "base/contract/exit_code.h"

namespace ratoon {
namespace {

using mds::Index;
using mds::ShardInfo;

[[noreturn]] void refuse(const Error& error) {
  // What is wrong with the text of an index or a path stays so; a file that cannot be read may be there on
  // another node or at another time.
  const bool is_for_good = error.kind() == ErrorKind::kInvalid;
  throw Failure(static_cast<int>(is_for_good ? ExitCode::kConfiguration : ExitCode::kStorage),
                error.message());
}

std::vector<std::uint64_t> sizes_of(const Index& index) {
  std::vector<std::uint64_t> sizes;
  sizes.reserve(index.shards.size());
  for (const ShardInfo& shard : index.shards) sizes.push_back(shard.samples);
  return sizes;
}

}  // namespace

struct MdsDataset::Parts {
  Parts(Index all, std::vector<std::unique_ptr<mds::ShardSource>> from, std::string name,
        mds::OpenShards::Limits limits)
      : index(std::move(all)),
        sources(std::move(from)),
        digest(std::move(name)),
        table(sizes_of(index)),
        shards(index.shards.size(), limits) {}

  mds::ShardBytes open_shard(std::size_t number) {
    if (auto found = shards.find(number)) return std::move(*found);
    const ShardInfo& shard = index.shards[number];
    auto opened = shards.find_or_open(number, [&] { return sources[shard.source]->open(shard, {}); });
    if (!opened) refuse(opened.error().with_context("shard " + std::to_string(number) + " of the data set"));
    return std::move(*opened);
  }

  const Index index;
  const std::vector<std::unique_ptr<mds::ShardSource>> sources;
  const std::string digest;
  const mds::ShardTable table;
  mds::OpenShards shards;
};

MdsDataset::MdsDataset(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
MdsDataset::~MdsDataset() = default;

std::uint64_t MdsDataset::size() const {
  return parts_->table.samples();
}

std::span<const Column> MdsDataset::columns() const {
  return parts_->index.columns.described();
}

std::string MdsDataset::digest() const {
  return parts_->digest;
}

std::vector<std::uint64_t> MdsDataset::shard_sizes() const {
  return sizes_of(parts_->index);
}

const std::string& MdsDataset::encoding(std::size_t column) const {
  if (column >= columns().size())
    throw std::out_of_range("the data set has no column " + std::to_string(column));
  return parts_->index.columns.encodings()[column].name;
}

void MdsDataset::read(std::uint64_t id, Sample& into) const {
  data::check_id(id, size());
  const mds::ShardTable::Place place = parts_->table.find(id);
  mds::ShardBytes shard = parts_->open_shard(place.shard);
  into.begin(id);
  const auto decoded =
      mds::decode_sample(parts_->index.columns, mds::sample_bytes(shard.bytes, place.sample), into);
  into.keep_alive(std::move(shard.owner));
  if (decoded) return;
  const ShardInfo& info = parts_->index.shards[place.shard];
  refuse(decoded.error().with_context(parts_->sources[info.source]->shown(info) + ", its sample " +
                                      std::to_string(place.sample) + " (" + std::to_string(id) +
                                      " of the data set)"));
}

void MdsDataset::elements(std::size_t column, const Field& list, Sample& into) const {
  const std::string& name = encoding(column);
  into.begin(into.id());
  const mds::Encoding& encoding = parts_->index.columns.encodings()[column];
  if (encoding.kind != mds::EncodingKind::kList && encoding.kind != mds::EncodingKind::kJpegArray)
    throw std::invalid_argument("column '" + columns()[column].name + "' is " + name + ", not a list");
  if (const auto decoded = mds::decode_elements(encoding, list.bytes, into); !decoded)
    refuse(decoded.error().with_context("column '" + columns()[column].name + "'"));
}

std::shared_ptr<MdsDataset> MdsDataset::open(const std::string& folder, const MdsOptions& options) {
  return open(std::vector{folder}, options);
}

std::shared_ptr<MdsDataset> MdsDataset::open(const std::vector<std::string>& folders,
                                             const MdsOptions& options) {
  Index index;
  std::vector<std::unique_ptr<mds::ShardSource>> sources;
  for (const std::string& folder : folders) {
    const std::filesystem::path root = std::filesystem::path(folder) / options.split;
    auto source = std::make_unique<mds::LocalSource>(
        root, mds::LocalSource::Options{.maps_files = options.maps_files,
                                        .verifies_hashes = options.verifies_local_files});
    auto read = source->read_index();
    if (!read) refuse(read.error());
    const auto number = static_cast<std::uint32_t>(sources.size());
    if (const auto added = mds::append(index, std::move(*read), number); !added)
      refuse(added.error().with_context((root / "index.json").string()));
    sources.push_back(std::move(source));
  }
  auto digest = mds::digest_of(index);
  if (!digest) refuse(digest.error());
  const mds::OpenShards::Limits limits{.memory_bytes_max = options.memory_bytes_max};
  return std::make_shared<MdsDataset>(
      std::make_unique<Parts>(std::move(index), std::move(sources), std::move(*digest), limits));
}

}  // namespace ratoon
