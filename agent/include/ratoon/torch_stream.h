// torch_stream: a Stream in PyTorch's own order. The batches are those of a DataLoader over a
// DistributedSampler, rank by rank and epoch by epoch. A run that began in Python therefore continues in
// Ratoon, with all functions of a Stream.
//
//   const ratoon::DistributedSamplerOptions python{.samples = 60000, .world_size = 8, .seed = 17};
//   ratoon::Stream stream(ratoon::torch_stream(python, {.batch_size = 32, .source = data.digest()}));
//   ratoon::begin_at(stream, python, ratoon::position_of_cycling_utils(text, python));
//
// The world of `python` is the world of the run in Python and does not change: batches are the same in a
// Ratoon world of any size. In a world of the same size, each rank takes the samples that it would have taken
// in Python. The field rank of `python` is ignored.
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

// The stream keeps its lists of samples as kept_lists(python.list_folder) does.
[[nodiscard]] StreamOptions torch_stream(const DistributedSamplerOptions& python, TorchLoader loader);

// Sets the stream to the position that a run in Python has reached. The stream must have the options that
// torch_stream() returned, and no batch may have been taken from it. Throws Failure if no batch begins at
// that position.
void begin_at(Stream& stream, const DistributedSamplerOptions& python, ListPosition position);

}  // namespace ratoon
