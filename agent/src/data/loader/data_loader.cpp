#include <algorithm>
#include <exception>
#include <stdexcept>

#include <ratoon/data_loader.h>
#include <ratoon/failure.h>

#include "agent/src/data/loader/batch_prefetcher.h"
#include "agent/src/data/loader/wait_listener.h"
#include "agent/src/data/sets/columns.h"

namespace ratoon {
namespace {

constexpr std::uint32_t kThreadsMax = 1024;

// Throws if a program passed two data sets of equal size in the wrong order. In this case the name of one
// data set's source is the digest of the other data set. Computing the digest of a data set may read all its
// bytes, so digests are computed only for data sets of equal size.
void check_source_order(const std::vector<std::shared_ptr<const Dataset>>& sources,
                        const StreamReader& plan) {
  for (std::uint32_t i = 0; i < sources.size(); ++i) {
    const std::string name = plan.source_name(i);
    for (std::uint32_t other = 0; other < sources.size(); ++other) {
      if (other == i || sources[other]->size() != sources[i]->size()) continue;
      if (sources[other]->digest() != name || sources[i]->digest() == name) continue;
      throw std::invalid_argument("data set " + std::to_string(other) + " is source " + std::to_string(i) +
                                  " of the stream, '" + name + "': give the loader its data sets in the " +
                                  "order of the stream's sources");
    }
  }
}

void check_sources(const std::vector<std::shared_ptr<const Dataset>>& sources, const StreamReader& plan) {
  if (sources.size() != plan.sources()) {
    throw std::invalid_argument("the stream has " + std::to_string(plan.sources()) +
                                " sources, but the loader got " + std::to_string(sources.size()) +
                                " data sets: it needs one for each source, in their order");
  }
  for (std::uint32_t i = 0; i < sources.size(); ++i) {
    if (sources[i]->size() == plan.source_samples(i)) continue;
    throw std::invalid_argument("source " + std::to_string(i) + " '" + plan.source_name(i) +
                                "' of the stream has " + std::to_string(plan.source_samples(i)) +
                                " samples, and its data set has " + std::to_string(sources[i]->size()));
  }
}

void check_options(const LoaderOptions& options) {
  static_cast<void>(share_of({}, options.rank, options.world_size));
  if (options.threads > kThreadsMax) {
    throw std::invalid_argument("a loader was given " + std::to_string(options.threads) +
                                " threads; the maximum is " + std::to_string(kThreadsMax) + "");
  }
  if (options.threads > 0 && options.prefetch_batches == 0) {
    throw std::invalid_argument(
        "with prefetch_batches 0, the threads would read no batch: set prefetch_batches to 1 or "
        "more, or threads to 0");
  }
}

data::LoaderInput loader_input_of(std::vector<std::shared_ptr<const Dataset>> sources,
                                  LoaderOptions options) {
  data::LoaderInput reading;
  reading.columns = data::common_columns(sources);
  reading.are_row_shapes_declared =
      !options.augment && std::all_of(reading.columns.begin(), reading.columns.end(),
                                      [](const Column& column) { return column.shape.has_value(); });
  reading.sources = std::move(sources);
  reading.augment = std::move(options.augment);
  reading.purpose = std::move(options.purpose);
  reading.allocate = options.allocate ? std::move(options.allocate) : data::allocate_aligned;
  reading.target_pieces_per_batch = std::max<std::size_t>(1, 4 * std::size_t{options.threads});
  return reading;
}

data::PrefetchDepth prefetch_depth_of(const LoaderOptions& options) {
  return {.threads = options.threads,
          .batches_read = options.threads == 0 ? 1 : options.prefetch_batches,
          .batches_planned = options.expect_batches};
}

}  // namespace

Source source_of(const Dataset& data, double weight) {
  return {.name = data.digest(), .samples = data.size(), .weight = weight, .shards = data.shard_sizes()};
}

DataLoader::DataLoader(std::vector<std::shared_ptr<const Dataset>> sources, Stream& stream,
                       LoaderOptions options)
    : stream_(stream), rank_(options.rank), world_size_(options.world_size), purpose_(options.purpose) {
  check_options(options);
  check_sources(sources, stream.reader());
  check_source_order(sources, stream.reader());
  const data::PrefetchDepth depth = prefetch_depth_of(options);
  prefetcher_ =
      std::make_unique<data::BatchPrefetcher>(loader_input_of(std::move(sources), std::move(options)), depth);
}

DataLoader::DataLoader(std::shared_ptr<const Dataset> source, Stream& stream, LoaderOptions options)
    : DataLoader(std::vector{std::move(source)}, stream, std::move(options)) {}

DataLoader::~DataLoader() = default;

void DataLoader::begin_where_the_stream_is(const StreamReader& plan) {
  auto loader_plan = std::make_shared<data::LoaderPlan>(
      data::LoaderPlan{.stream_reader = plan, .rank = rank_, .world_size = world_size_});
  for (std::uint32_t i = 0; i < plan.sources(); ++i) {
    loader_plan->augmentation_keys.push_back(sample_random_key(plan.seed(), purpose_, plan.source_name(i)));
    loader_plan->sample_read_keys.push_back(read_random_key(plan.seed(), purpose_, plan.source_name(i)));
  }
  prefetcher_->set_loader_plan(loader_plan, stream_.batches());
  loader_plan_ = std::move(loader_plan);
  next_batch_ = stream_.batches();
}

Batch DataLoader::next() {
  const StreamReader plan = stream_.reader();
  const bool goes_on = loader_plan_ != nullptr && loader_plan_->stream_reader.is_same_plan(plan) &&
                       stream_.batches() <= next_batch_;
  if (!goes_on) begin_where_the_stream_is(plan);
  const data::WaitScope waits;
  try {
    Batch batch = prefetcher_->take();
    ++next_batch_;
    return batch;
  } catch (const Failure&) {
    waits.on_failure(std::current_exception());
    throw;
  }
}

void DataLoader::advance(const Batch& batch) {
  if (!batch.body().loader_plan->stream_reader.is_same_plan(stream_.reader())) {
    throw std::invalid_argument("batch " + std::to_string(batch.index()) +
                                " was read before the stream was loaded or changed, or is of another stream: "
                                "drop this batch and call next()");
  }
  if (batch.index() != stream_.batches()) {
    throw std::invalid_argument("batch " + std::to_string(batch.index()) + " cannot be counted: batch " +
                                std::to_string(stream_.batches()) +
                                " is next. Count each batch once, in order; rewind() goes back to "
                                "the first batch that is not counted yet");
  }
  stream_.advance();
}

void DataLoader::rewind() {
  loader_plan_ = nullptr;
}

void DataLoader::set_share(std::uint32_t rank, std::uint32_t world_size) {
  static_cast<void>(share_of({}, rank, world_size));
  if (rank == rank_ && world_size == world_size_) return;
  rank_ = rank;
  world_size_ = world_size;
  rewind();
}

void DataLoader::stop() noexcept {
  prefetcher_->stop();
}

}  // namespace ratoon
