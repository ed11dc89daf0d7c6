// The options of a stream of samples.
//
//   ratoon::StreamOptions one{.samples = 60000, .global_batch = 256, .seed = 17, .source = "digits"};
//
//   ratoon::StreamOptions mixture{.global_batch = 1024,
//                                 .seed = 17,
//                                 .sources = {{.name = "web", .samples = 9'000'000, .weight = 0.7},
//                                             {.name = "books", .samples = 40'000, .weight = 0.3}}};
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ratoon/torch_random.h>

namespace ratoon {

struct Source {
  // A name or a digest of the data, not a path, which may change: the order of samples depends on the name.
  std::string name{};
  std::uint64_t samples = 0;  // 0: the sum of its shards
  double weight = 1;          // of the draws, relative to the other sources' weights; 0: never drawn
  std::vector<std::uint64_t> shards{};  // the samples of each shard, in order: for kBlocks
};

enum class SampleOrder {
  kShuffled,  // any sample at any place of its epoch ("feistel-1")
  // First the order of the shards is shuffled, then the samples within each group of `window_shards` shards
  // are shuffled ("blocks-1"). In the order kBlocks, only few shards are open at once.
  kBlocks,
  kInOrder,  // the order in which they are numbered ("in-order-1")
  kTorch,    // the order of PyTorch's DistributedSampler (ratoon/torch_stream.h makes such options)
};

// TorchOrder: the settings of a run that began in Python. They do not depend on the number of ranks in
// Ratoon. In each step, the stream has the samples of the Python run: first the samples of Python's rank 0,
// then those of rank 1, and so on.
struct TorchOrder {
  std::uint32_t world_size = 1;
  std::uint64_t batch_size = 1;  // of each rank
  bool shuffle = true;
  bool drop_last = false;  // of the sampler; for the loader's drop_last use EpochEnd::kDrop
  bool repeat_epoch_0 = false;
  TorchRelease release = TorchRelease::kSince2_6;
  std::shared_ptr<IndexLists> lists{};
};

// Where batches end. EpochEnd does not change the order of the samples.
enum class EpochEnd {
  kCarry,  // every batch is full; one may reach into the next epoch
  kShort,  // the last batch of an epoch ends with it
  kDrop,   // slots at the end of an epoch that fill no batch are skipped
};

struct StreamOptions {
  std::uint64_t samples = 0;       // of the single source; leave it 0 if `sources` is set
  std::uint64_t global_batch = 0;  // of all ranks together, per step
  std::uint64_t seed = 0;
  std::string source{};  // the name of the one source
  SampleOrder order = SampleOrder::kShuffled;
  std::uint64_t window_shards = 16;  // for kBlocks: a wider window shuffles better and holds more shards open
  // An `epoch_end` other than kCarry needs a single source, because the epochs of several sources end at
  // different slots.
  EpochEnd epoch_end = EpochEnd::kCarry;
  std::vector<Source> sources{};  // instead of `samples` and `source`
  TorchOrder torch{};             // for kTorch
};

// Selects in which fields a loaded state may differ from the program's options (Stream::accept). The saved
// state of the stream lists each accepted difference.
struct StreamOverride {
  bool global_batch = false;  // take the global batch of the options from the cursor on
  bool weights = false;       // take the weights of the options from the cursor on
  // If `sources`, `seed` or `order` is true, samples from the cursor on come from a new stream with new
  // options. With new sources, seed or order, samples before the cursor can no longer be computed.
  bool sources = false;
  bool seed = false;
  bool order = false;  // also the window and the end of epochs
};

}  // namespace ratoon
