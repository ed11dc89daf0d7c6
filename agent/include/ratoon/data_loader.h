// DataLoader: the batches of a stream, prefetched by threads and returned in order. Only the stream
// determines the samples of a batch and their augmentation; threads, speed, ranks and restarts change
// nothing.
//
//   auto digits = ratoon::RecordDataset::open("digits.bin", {...});
//   ratoon::Stream stream({.global_batch = 256, .seed = 17, .sources = {ratoon::source_of(*digits)}});
//   ratoon::DataLoader loader(digits, stream, {.rank = rank, .world_size = world_size, .threads = 4});
//   while (stream.epoch() < 90) {
//     ratoon::Batch batch = loader.next();
//     train(batch);
//     loader.advance(batch);  // only now it counts: a batch that was not trained is returned again
//   }
//
// The position of the loader is a part of the stream: save the stream with stream.save_state(). After
// stream.load_state(), next() continues at the loaded position. A change of the stream, the rank or the world
// size takes effect at the next call of next().
//
// Thread contract: one thread; stop() may be called from any thread. The stream must outlive the loader, and
// the thread that uses the loader also uses the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ratoon/batch.h>
#include <ratoon/dataset.h>
#include <ratoon/sample_random.h>
#include <ratoon/stream.h>

namespace ratoon {

namespace data {
struct LoaderPlan;
class BatchPrefetcher;
}  // namespace data

struct LoaderOptions {
  std::uint32_t rank = 0;
  std::uint32_t world_size = 1;
  std::uint32_t threads = 2;  // 0: next() reads by itself when it is called
  // How many batches the loader reads in advance, counted from the batch that next() returned last. Each
  // batch read in advance needs memory of its own.
  std::uint32_t prefetch_batches = 2;
  // For how many future batches the loader announces the samples to the data sets (Dataset::expect), which
  // can then fetch the samples early.
  std::uint32_t expect_batches = 16;

  // A function of the program that augments (changes) each sample after the sample was read. Several threads
  // call `augment` at once. `augment` draws its random numbers from its second argument. A data set that
  // draws random numbers in read() takes them from current_sample_random().
  std::function<void(Sample&, SampleRandom&)> augment{};
  std::string purpose = "augment";  // part of the random key: another purpose draws other numbers

  // Allocates the memory of a column: at least `bytes` bytes, at an address that is a multiple of 64. Set
  // `allocate` to put batches into pinned or shared memory. If `allocate` is empty, batches are in ordinary
  // memory.
  std::function<std::shared_ptr<std::byte>(std::size_t bytes)> allocate{};
};

// Returns the entry for StreamOptions::sources that describes a data set. The digest of the data set becomes
// the source's name, so a run resumes only with the same data.
[[nodiscard]] Source source_of(const Dataset& data, double weight = 1);

class DataLoader {
 public:
  // Takes one data set for each source of the stream, in the order of the sources. All data sets must have
  // the same columns. Throws std::invalid_argument if the data sets differ from the stream's sources in
  // number or size.
  DataLoader(std::vector<std::shared_ptr<const Dataset>> sources, Stream& stream, LoaderOptions options = {});
  DataLoader(std::shared_ptr<const Dataset> source, Stream& stream, LoaderOptions options = {});
  ~DataLoader();  // stop()
  DataLoader(const DataLoader&) = delete;
  DataLoader& operator=(const DataLoader&) = delete;

  // Waits for the next batch in the order of the stream and returns it. If a data set or an augmentation
  // throws, next() throws a Failure or std::runtime_error that names the sample, with the original exception
  // nested. The next call of next() tries to read the failed batch again, so no batch is skipped. In the loop
  // of a Session the waiting time is recorded as Phase::kData, the phase in which a rank waits for samples.
  // Throws Interrupted after stop().
  [[nodiscard]] Batch next();

  // Marks the batch as trained and moves the stream's position to the end of the batch. The program trains
  // batches in the order in which next() returned them, and each batch once. Throws std::invalid_argument if
  // `batch` is already marked as trained, or if an earlier batch is not.
  void advance(const Batch& batch);

  // Makes the next call of next() return the first batch that was not trained.
  void rewind();

  // Changes the rank or the world size, beginning with the next call of next().
  void set_share(std::uint32_t rank, std::uint32_t world_size);

  // stop() ends all reads. The loader's threads stop after their current sample, and a data set that waits
  // for bytes is asked to stop (Sample::stop). After stop(), all calls of next() throw Interrupted.
  void stop() noexcept;

 private:
  void begin_where_the_stream_is(const StreamReader& plan);

  Stream& stream_;
  std::uint32_t rank_;
  std::uint32_t world_size_;
  std::string purpose_;
  std::shared_ptr<data::LoaderPlan>
      loader_plan_;               // prefetched batches; null: next() begins at the stream's position
  std::uint64_t next_batch_ = 0;  // the number of the batch that next() returns
  std::unique_ptr<data::BatchPrefetcher> prefetcher_;
};

}  // namespace ratoon
