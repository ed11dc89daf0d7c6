// DataLoader: the batches of a stream, read ahead by threads and handed out in order. Which samples a batch
// has, and what augmentation does to them, depends on the stream alone: not on threads, speed, ranks or
// restarts.
//
//   auto digits = ratoon::RecordDataset::open("digits.bin", {...});
//   ratoon::Stream stream({.global_batch = 256, .seed = 17, .sources = {ratoon::source_of(*digits)}});
//   ratoon::DataLoader loader(digits, stream, {.rank = rank, .world_size = world_size, .threads = 4});
//   while (stream.epoch() < 90) {
//     ratoon::Batch batch = loader.next();
//     train(batch);
//     loader.advance(batch);  // only now does it count: what was fetched and not trained comes again
//   }
//
// The position is the stream's: save it with stream.save_state(), and after stream.load_state() the next
// next() goes on from there. Any change of the stream or of the share takes effect at the next next().
//
// Thread contract: one thread; stop() from any. The stream outlives the loader and is used by the same
// thread.
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
struct Course;
class Prefetcher;
}  // namespace data

struct LoaderOptions {
  std::uint32_t rank = 0;
  std::uint32_t world_size = 1;
  std::uint32_t threads = 2;  // 0: next() reads by itself, when it is called
  // Read ahead of the one that was handed out; their memory is the loader's.
  std::uint32_t prefetch_batches = 2;
  // How many batches ahead data sets are told what will be read (Dataset::expect), so that they can fetch it.
  std::uint32_t expect_batches = 16;

  // Changes a sample after it was read, by many threads at once. Draws what it needs from its second
  // argument.
  std::function<void(Sample&, SampleRandom&)> augment{};
  std::string purpose = "augment";  // another one draws other numbers

  // Where the columns lie; at least so many bytes, at an address that is a multiple of 64. For memory that is
  // pinned or shared; otherwise ordinary memory.
  std::function<std::shared_ptr<std::byte>(std::size_t bytes)> allocate{};
};

// What a stream has to know of a data set; its digest is its name, so that a run goes on over the same data
// only.
[[nodiscard]] Source source_of(const Dataset& data, double weight = 1);

class DataLoader {
 public:
  // A data set for each source of the stream, in their order, all with the same columns. Throws
  // std::invalid_argument where they do not fit.
  DataLoader(std::vector<std::shared_ptr<const Dataset>> sources, Stream& stream, LoaderOptions options = {});
  DataLoader(std::shared_ptr<const Dataset> source, Stream& stream, LoaderOptions options = {});
  ~DataLoader();  // stop()
  DataLoader(const DataLoader&) = delete;
  DataLoader& operator=(const DataLoader&) = delete;

  // The batch after the last one; waits for it. What a data set or augmentation throws comes out here, of the
  // batch that it belongs to, as a Failure or std::runtime_error that names the sample (the original is
  // nested in it). The same batch is then tried again by the next call: nothing is ever skipped in silence.
  // Within the loop of a Session its wait is booked as Phase::kData.
  // Throws Interrupted after stop().
  [[nodiscard]] Batch next();

  // The batch was trained: moves the stream on by it. Batches are trained in the order in which they were
  // handed out, each once; throws std::invalid_argument for any other.
  void advance(const Batch& batch);

  // The next next() begins again with the first batch that was not trained.
  void rewind();

  // Another place in the world, as of the next next().
  void set_share(std::uint32_t rank, std::uint32_t world_size);

  // Ends all reading: threads stop after the sample that they are at, a data set that waits for bytes is told
  // to give up (Sample::stop), and a next() that waits throws Interrupted, as does every later one.
  void stop() noexcept;

 private:
  void begin_where_the_stream_is(const StreamReader& plan);

  Stream& stream_;
  std::uint32_t rank_;
  std::uint32_t world_size_;
  std::string purpose_;
  std::shared_ptr<data::Course> course_;  // what is read ahead; none: next() begins where the stream is
  std::uint64_t next_ = 0;                // the number of the batch that next() hands out
  std::unique_ptr<data::Prefetcher> prefetcher_;
};

}  // namespace ratoon
