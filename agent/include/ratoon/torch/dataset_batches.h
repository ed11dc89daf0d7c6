// Reads batches from a torch::data dataset in the order of a Stream, for a loop with or without a Session.
// To keep LibTorch's own data loader, use StreamSampler.
//
//   auto dataset = torch::data::datasets::MNIST(folder).map(torch::data::transforms::Stack<>());
//   auto batches = ratoon::torch::batches(dataset, stream, {.rank = r, .world_size = w, .workers = 4});
//   for (auto& batch : batches) {  // the rest of the epoch; next() goes on over epochs
//     train_on(batch->data, batch->target);
//     batches.advance(batch);  // only now it counts: a batch that was not trained is returned again
//   }
//
// If the dataset throws while a batch is read, the call of next() for this batch throws. The following call
// of next() reads the batch again. A change of the stream takes effect at the next batch.
//
// Thread contract: one thread at a time. Each worker thread has its own copy of the dataset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <torch/data/dataloader.h>

#include <ratoon/stream.h>
#include <ratoon/torch/sample_reads.h>

namespace ratoon::torch {

struct BatchesOptions {
  std::uint32_t rank = 0;
  std::uint32_t world_size = 1;
  std::size_t workers = 0;          // threads that prefetch; 0: the caller's thread fetches
  std::size_t ahead = 2;            // batches that each of them prefetches
  std::string purpose = "augment";  // of current_sample_random(): another purpose draws other numbers
};

// The samples of a batch that this rank trains, as the dataset returned them, and the batch's position in the
// run.
template <class Value>
struct DatasetBatch {
  Value value;
  std::uint64_t index = 0;  // batches that the run took before it
  std::uint64_t epoch = 0;
  std::uint64_t index_in_epoch = 0;
  SlotRange range{};  // the slots of all ranks
  SlotRange share{};

  Value& operator*() { return value; }
  Value* operator->() { return &value; }
  const Value& operator*() const { return value; }
  const Value* operator->() const { return &value; }
};

namespace detail {

// Gives LibTorch's loader the sample numbers and generators of one batch after the other, without an end.
class AheadSampler : public ::torch::data::samplers::Sampler<SampleReads> {
 public:
  AheadSampler(StreamReader reader, std::uint64_t batch, std::uint32_t rank, std::uint32_t world_size,
               const std::string& purpose);

  void reset(std::optional<std::size_t> = std::nullopt) override {}
  // Returns nothing if this rank has no sample in the batch, because LibTorch's loader accepts no empty
  // batch.
  std::optional<SampleReads> next(std::size_t batch_size) override;
  void save(::torch::serialize::OutputArchive&) const override {}
  void load(::torch::serialize::InputArchive&) override {}

 private:
  StreamReader reader_;
  std::uint64_t batch_;
  std::uint32_t rank_;
  std::uint32_t world_size_;
  std::vector<std::uint64_t> random_keys_;  // one per source
};

// A dataset that LibTorch's loader reads with read_samples().
template <class Dataset>
class DatasetOfReads
    : public ::torch::data::datasets::BatchDataset<DatasetOfReads<Dataset>, typename Dataset::BatchType,
                                                   SampleReads> {
 public:
  explicit DatasetOfReads(Dataset dataset) : dataset_(std::move(dataset)) {}

  typename Dataset::BatchType get_batch(SampleReads reads) override {
    return read_samples(dataset_, std::move(reads));
  }
  std::optional<std::size_t> size() const override { return dataset_.size(); }

 private:
  Dataset dataset_;
};

// Selects the batch to read next: the batch after the batch that was read last, or, if the stream's position
// was changed, the batch at the new position.
class BatchCursor {
 public:
  BatchCursor(Stream& stream, std::uint32_t rank, std::uint32_t world_size);

  // Whether calls other than BatchCursor::train(), such as Stream::load_state(), have changed the position of
  // the stream. If was_moved() returns true, the cursor continues at the stream's new position.
  [[nodiscard]] bool was_moved();
  void go_to_first_untrained() { next_batch_ = stream_->batches(); }
  void step() { ++next_batch_; }
  void train(std::uint64_t index);

  [[nodiscard]] std::uint64_t next() const { return next_batch_; }
  [[nodiscard]] std::uint64_t epoch() const;
  [[nodiscard]] std::uint64_t index_in_epoch() const;
  [[nodiscard]] SlotRange range() const { return reader_.batch(next_batch_); }
  [[nodiscard]] SlotRange share() const { return share_of(range(), rank_, world_size_); }
  [[nodiscard]] std::size_t largest_share() const;
  [[nodiscard]] std::uint64_t samples() const;  // of all sources
  [[nodiscard]] AheadSampler sampler(const std::string& purpose) const {
    return {reader_, next_batch_, rank_, world_size_, purpose};
  }

 private:
  [[nodiscard]] bool is_in_step() const;

  Stream* stream_;
  std::uint32_t rank_;
  std::uint32_t world_size_;
  StreamReader reader_;
  std::uint64_t trained_batches_;  // the stream's batches at the last check
  std::uint64_t next_batch_;
};

}  // namespace detail

template <class Dataset>
class DatasetBatches {
  static_assert(!Dataset::is_stateful,
                "a dataset with its own position (ChunkDataset) cannot follow a Stream: use another dataset");

 public:
  using Batch = DatasetBatch<typename Dataset::BatchType>;

  // The stream must outlive this object. Throws std::invalid_argument if the dataset and the stream have
  // different numbers of samples.
  DatasetBatches(Dataset dataset, Stream& stream, BatchesOptions options)
      : dataset_(std::move(dataset)),
        options_(std::move(options)),
        cursor_(stream, options_.rank, options_.world_size) {
    const std::optional<std::size_t> size = dataset_.size();
    if (size && *size != cursor_.samples())
      throw std::invalid_argument("the dataset has " + std::to_string(*size) + " samples, the stream has " +
                                  std::to_string(cursor_.samples()) + ": correct the stream's .samples");
    if (options_.workers > 0 && options_.ahead == 0)
      throw std::invalid_argument(".ahead is 0, so the workers would prefetch no batch: set it to 1 or more");
  }

  // Returns the next batch of the stream; after the last batch of an epoch, the first batch of the next
  // epoch.
  [[nodiscard]] Batch next() {
    if (cursor_.was_moved()) stop();
    if (cursor_.share().size() == 0)
      throw std::invalid_argument("batch " + std::to_string(cursor_.next()) + " has " +
                                  std::to_string(cursor_.range().size()) + " samples for " +
                                  std::to_string(options_.world_size) +
                                  " ranks, but each rank needs a sample: use larger batches or fewer ranks");
    Batch batch{.value = fetch(),
                .index = cursor_.next(),
                .epoch = cursor_.epoch(),
                .index_in_epoch = cursor_.index_in_epoch(),
                .range = cursor_.range(),
                .share = cursor_.share()};
    cursor_.step();
    return batch;
  }

  // Marks the batch as trained and moves the stream's position to the end of the batch. The program trains
  // batches in the order in which next() returned them, and each batch once. Throws std::invalid_argument if
  // `batch` is already marked as trained, or if an earlier batch is not.
  void advance(const Batch& batch) { cursor_.train(batch.index); }

  // Iterates from the first batch that is not trained to the end of the epoch of that batch.
  class Iterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;

    explicit Iterator(DatasetBatches& from) : batches_(&from), batch_(from.next()) {}
    [[nodiscard]] Batch& operator*() { return *batch_; }
    [[nodiscard]] Batch* operator->() { return &*batch_; }
    Iterator& operator++() {
      batch_ = batches_->next_in_epoch(batch_->epoch);
      return *this;
    }
    void operator++(int) { ++*this; }
    [[nodiscard]] bool operator==(std::default_sentinel_t) const { return !batch_; }

   private:
    DatasetBatches* batches_;
    std::optional<Batch> batch_;
  };

  [[nodiscard]] Iterator begin() {
    rewind();
    return Iterator(*this);
  }
  [[nodiscard]] std::default_sentinel_t end() const { return {}; }

  // Makes the next call of next() return the first batch that is not trained.
  void rewind() {
    const std::uint64_t before = cursor_.next();
    const bool was_moved = cursor_.was_moved();
    cursor_.go_to_first_untrained();
    if (was_moved || cursor_.next() != before) stop();
  }

 private:
  using Loader = ::torch::data::StatelessDataLoader<detail::DatasetOfReads<Dataset>, detail::AheadSampler>;
  using LoaderIterator = ::torch::data::Iterator<typename Dataset::BatchType>;

  typename Dataset::BatchType fetch() {
    try {
      if (loader_iterator_) {
        ++*loader_iterator_;
      } else {
        const auto how = ::torch::data::DataLoaderOptions(cursor_.largest_share())
                             .workers(options_.workers)
                             .max_jobs(options_.workers * options_.ahead);
        loader_ = ::torch::data::make_data_loader(detail::DatasetOfReads<Dataset>(dataset_),
                                                  cursor_.sampler(options_.purpose), how);
        loader_iterator_ = loader_->begin();
      }
      return std::move(**loader_iterator_);
    } catch (const ::torch::data::WorkerException& error) {
      const std::exception_ptr original = error.original_exception;
      stop();
      std::rethrow_exception(original);
    } catch (...) {
      stop();
      throw;
    }
  }

  std::optional<Batch> next_in_epoch(std::uint64_t epoch) {
    if (cursor_.was_moved()) stop();
    if (cursor_.epoch() != epoch) return std::nullopt;
    return next();
  }

  // LibTorch's loader cannot restart before the end of an epoch, so stop() destroys the loader.
  void stop() {
    loader_iterator_.reset();
    loader_.reset();
  }

  Dataset dataset_;
  BatchesOptions options_;
  detail::BatchCursor cursor_;
  std::unique_ptr<Loader> loader_;
  std::optional<LoaderIterator> loader_iterator_;
};

template <class Dataset>
[[nodiscard]] DatasetBatches<Dataset> batches(Dataset dataset, Stream& stream, BatchesOptions options = {}) {
  return DatasetBatches<Dataset>(std::move(dataset), stream, std::move(options));
}

}  // namespace ratoon::torch
