// What a stream of samples is made of.
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
  std::string name{};         // or a digest of the data, never a path: another name is another order
  std::uint64_t samples = 0;  // absent: those of its shards
  double weight = 1;          // of the draws, beside the other sources' weights; 0: never drawn
  std::vector<std::uint64_t> shards{};  // samples of each, in the order of their numbers: for kBlocks
};

enum class SampleOrder {
  kShuffled,  // any sample anywhere in its epoch ("feistel-1")
  kBlocks,   // shards shuffled, and samples among `window_shards` shards at a time ("blocks-1"): few are open
  kInOrder,  // as they are numbered ("in-order-1")
  kTorch,    // as PyTorch's DistributedSampler has it (ratoon/torch_stream.h makes such options)
};

// What a run in Python was, whatever the world here: its batches are the slots of our steps, the part of its
// rank r before that of rank r + 1.
struct TorchOrder {
  std::uint32_t world_size = 1;
  std::uint64_t batch_size = 1;  // of each rank
  bool shuffle = true;
  bool drop_last = false;  // of the sampler; of the loader it is EpochEnd::kDrop
  bool repeat_epoch_0 = false;
  TorchRelease release = TorchRelease::kSince2_6;
  std::shared_ptr<IndexLists> lists{};
};

// Where batches end. It never changes which sample a slot holds.
enum class EpochEnd {
  kCarry,  // every batch is full; one may reach into the next epoch
  kShort,  // the last batch of an epoch ends with it
  kDrop,   // the slots of an epoch that fill no batch are passed over
};

struct StreamOptions {
  std::uint64_t samples = 0;       // of the one source; absent where `sources` are given
  std::uint64_t global_batch = 0;  // of all ranks together, per step
  std::uint64_t seed = 0;
  std::string source{};  // the name of the one source
  SampleOrder order = SampleOrder::kShuffled;
  std::uint64_t window_shards = 16;  // for kBlocks: a wider window shuffles better and holds more shards open
  EpochEnd epoch_end = EpochEnd::kCarry;  // kShort and kDrop are for one source: those of a mixture end apart
  std::vector<Source> sources{};          // instead of `samples` and `source`
  TorchOrder torch{};                     // for kTorch
};

// What of a loaded state may differ from the options (Stream::accept). Each use is kept in the state.
struct StreamOverride {
  bool global_batch = false;  // the options' one, from the cursor on
  bool weights = false;       // likewise
  // With any of these, the slots from the cursor on are those of the options, as if they had always been; the
  // slots before it can no longer be computed.
  bool sources = false;
  bool seed = false;
  bool order = false;  // with its window and the end of epochs
};

}  // namespace ratoon
