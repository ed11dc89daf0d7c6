// DataLoader: the batches of a stream, prefetched by threads and returned in order. The samples of a batch
// and their augmentation depend on the stream only, not on threads, speed, ranks or restarts.
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
// The stream holds the loader's position: save it with stream.save_state(). After stream.load_state(), next()
// continues at the loaded position. Any change of the stream or of the rank's share takes effect at the next
// call of next().
//
// Thread contract: one thread; stop() may be called from any thread. The stream must outlive the loader and
// is used by the same thread.
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
  // How many batches are read ahead of the batch that was returned last. The loader owns the memory of the
  // batches that are read ahead.
  std::uint32_t prefetch_batches = 2;
  // How many batches ahead the data sets learn which samples will be read (Dataset::expect), so that they can
  // fetch them.
  std::uint32_t expect_batches = 16;

  // Changes (augments) a sample after it was read. Several threads call `augment` at once; it draws its
  // random numbers from its second argument.
  std::function<void(Sample&, SampleRandom&)> augment{};
  std::string purpose = "augment";  // part of the random key: another purpose draws other numbers

  // Allocates the memory of a column: at least `bytes` bytes, at an address that is a multiple of 64. Set
  // `allocate` for pinned or shared memory. Empty: ordinary memory.
  std::function<std::shared_ptr<std::byte>(std::size_t bytes)> allocate{};
};

// Describes a data set to a stream. The data set's digest is the source's name, so a run resumes over the
// same data only.
[[nodiscard]] Source source_of(const Dataset& data, double weight = 1);

class DataLoader {
 public:
  // Takes one data set for each source of the stream, in the sources' order, all with the same columns.
  // Throws std::invalid_argument if the data sets do not fit the stream.
  DataLoader(std::vector<std::shared_ptr<const Dataset>> sources, Stream& stream, LoaderOptions options = {});
  DataLoader(std::shared_ptr<const Dataset> source, Stream& stream, LoaderOptions options = {});
  ~DataLoader();  // stop()
  DataLoader(const DataLoader&) = delete;
  DataLoader& operator=(const DataLoader&) = delete;

  // Waits for the next batch in the order of the stream and returns it. If a data set or an augmentation
  // throws, next() throws a Failure or std::runtime_error that names the sample, with the original exception
  // nested. The next call of next() tries the same batch again: no batch is skipped. In the loop of a Session
  // the wait is recorded as Phase::kData. Throws Interrupted after stop().
  [[nodiscard]] Batch next();

  // Marks the batch as trained and advances the stream by the batch. Batches are trained in the
  // order in which they were returned, each once. Throws std::invalid_argument for a batch out of
  // order.
  void advance(const Batch& batch);

  // Makes the next call of next() return the first batch that was not trained.
  void rewind();

  // Changes the rank or the world size, beginning with the next call of next().
  void set_share(std::uint32_t rank, std::uint32_t world_size);

  // Ends all reading. Threads stop after their current sample, a data set that waits for bytes is asked to
  // stop (Sample::stop), and a waiting next() and every later next() throw Interrupted.
  void stop() noexcept;

 private:
  void begin_where_the_stream_is(const StreamReader& plan);

  Stream& stream_;
  std::uint32_t rank_;
  std::uint32_t world_size_;
  std::string purpose_;
  std::shared_ptr<data::LoaderPlan>
      loader_plan_;         // prefetched batches; null: next() begins at the stream's position
  std::uint64_t next_ = 0;  // the number of the batch that next() returns
  std::unique_ptr<data::BatchPrefetcher> prefetcher_;
};

}  // namespace ratoon
