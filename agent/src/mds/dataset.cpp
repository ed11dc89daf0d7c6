#include <stdexcept>

#include <ratoon/mds_dataset.h>

#include "agent/src/data/sets/columns.h"
#include "agent/src/data/sets/refuse.h"
#include "agent/src/mds/folders.h"
#include "agent/src/mds/format/digest.h"
#include "agent/src/mds/format/shard.h"
#include "agent/src/mds/format/values/decode.h"
#include "agent/src/mds/shards/shard_reader.h"

namespace ratoon {
namespace {

template <class T>
T unwrap_or_throw(Result<T> result) {
  if (!result) data::throw_dataset_failure(result.error());
  return std::move(*result);
}

}  // namespace

struct MdsDataset::Parts {
  explicit Parts(mds::DatasetFolders folders)
      : reader(std::move(folders)), digest(unwrap_or_throw(mds::digest_of(reader.index()))) {}

  [[nodiscard]] const mds::Columns& columns() const { return reader.index().columns; }

  mds::ShardReader reader;
  const std::string digest;
};

MdsDataset::MdsDataset(std::unique_ptr<Parts> parts) : impl_(std::move(parts)) {}
MdsDataset::~MdsDataset() = default;

std::shared_ptr<MdsDataset> MdsDataset::open(const std::string& uri, const MdsOptions& options) {
  return open(std::vector{uri}, options);
}

std::shared_ptr<MdsDataset> MdsDataset::open(const std::vector<std::string>& uris,
                                             const MdsOptions& options) {
  if (uris.empty())
    throw std::invalid_argument("MdsDataset::open: the list of folders is empty; name at least one folder");
  if (options.fetch_threads == 0) throw std::invalid_argument("MdsOptions::fetch_threads must be 1 or more");
  auto folders = unwrap_or_throw(mds::open_dataset_folders(uris, options));
  return std::make_shared<MdsDataset>(std::make_unique<Parts>(std::move(folders)));
}

std::uint64_t MdsDataset::size() const {
  return impl_->reader.table().samples();
}

std::span<const Column> MdsDataset::columns() const {
  return impl_->columns().dataset_columns();
}

std::string MdsDataset::digest() const {
  return impl_->digest;
}

std::vector<std::uint64_t> MdsDataset::shard_sizes() const {
  return mds::shard_sample_counts(impl_->reader.index());
}

const std::string& MdsDataset::encoding(std::size_t column) const {
  if (column >= columns().size())
    throw std::out_of_range("the data set has no column " + std::to_string(column));
  return impl_->columns().encodings()[column].name;
}

void MdsDataset::expect(std::span<const std::uint64_t> ids) const {
  impl_->reader.expect(ids);
}

void MdsDataset::expect_no_more(std::span<const std::uint64_t> ids) const {
  impl_->reader.expect_no_more(ids);
}

void MdsDataset::read(std::uint64_t id, Sample& into) const {
  data::check_id(id, size());
  const mds::ShardTable::SamplePosition place = impl_->reader.table().find(id);
  into.begin(id);  // first: the sample's old shard may have to be closed to open the next one
  mds::ShardBytes shard = unwrap_or_throw(impl_->reader.open(place.shard, into.stop()));
  const auto decoded =
      mds::decode_sample(impl_->columns(), mds::sample_bytes(shard.bytes, place.sample), into);
  into.keep_alive(std::move(shard.owner));
  if (decoded) return;
  data::throw_dataset_failure(decoded.error().with_context(impl_->reader.display_name(place.shard) +
                                                           ", sample " + std::to_string(place.sample) + " (" +
                                                           std::to_string(id) + " of the data set)"));
}

void MdsDataset::elements(std::size_t column, const Field& list, Sample& into) const {
  const std::string& name = encoding(column);
  into.begin(into.id());
  const mds::Encoding& encoding = impl_->columns().encodings()[column];
  if (encoding.kind != mds::EncodingKind::kList && encoding.kind != mds::EncodingKind::kJpegArray)
    throw std::invalid_argument("column '" + columns()[column].name + "' is " + name + ", not a list");
  if (const auto decoded = mds::decode_elements(encoding, list.bytes, into); !decoded)
    data::throw_dataset_failure(decoded.error().with_context("column '" + columns()[column].name + "'"));
}

}  // namespace ratoon
