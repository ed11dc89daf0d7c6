// torch_stream: a Stream in PyTorch's own order. Its batches are equal to those of PyTorch's DataLoader
// with a DistributedSampler. A run that began in Python can continue in Ratoon and use all functions of
// Stream.
//
//   const ratoon::DistributedSamplerOptions python{.samples = 60000, .world_size = 8, .seed = 17};
//   ratoon::Stream stream(ratoon::torch_stream(python, {.batch_size = 32, .source = data.digest()}));
//   ratoon::begin_at(stream, python, ratoon::position_of_cycling_utils(text, python));
//
// The field `world_size` of `python` is the number of ranks in Python. The batches are the same with any
// number of ranks in Ratoon. With the same number of ranks as in Python, each rank takes the samples that it
// would have taken in Python. The field `rank` of `python` is ignored.
#pragma once

#include <cstdint>
#include <string>

#include <ratoon/stream.h>
#include <ratoon/torch_order.h>

namespace ratoon {

struct TorchLoader {
  std::uint64_t batch_size = 1;  // of each rank
  bool drop_last = false;        // drops the last batch of an epoch if it is short
  std::string source = {};       // as in StreamOptions: a name or digest of the data
};

// Returns the options of the stream. The stream caches its lists of samples with
// kept_lists(python.list_folder).
[[nodiscard]] StreamOptions torch_stream(const DistributedSamplerOptions& python, TorchLoader loader);

// Moves the stream to the position at which a run in Python stopped. The stream must have the options that
// torch_stream() returned, and must be new: no batch was taken from it. Throws Failure if no batch begins at
// the position.
void begin_at(Stream& stream, const DistributedSamplerOptions& python, ListPosition position);

}  // namespace ratoon
