// torch_stream: a Stream in PyTorch's own order. Its batches are those of a DataLoader over a
// DistributedSampler, rank by rank and epoch by epoch, so a run that began in Python goes on here, with all
// that a Stream can do.
//
//   const ratoon::DistributedSamplerOptions python{.samples = 60000, .world_size = 8, .seed = 17};
//   ratoon::Stream stream(ratoon::torch_stream(python, {.batch_size = 32, .source = data.digest()}));
//   ratoon::begin_at(stream, python, ratoon::position_of_cycling_utils(text, python));
//
// The world of `python` is that of the run in Python and stays what it is: batches are the same in any world
// here, and in one of that size each rank takes what it would have taken there. The rank of `python` does not
// count.
#pragma once

#include <cstdint>
#include <string>

#include <ratoon/stream.h>
#include <ratoon/torch_order.h>

namespace ratoon {

struct TorchLoader {
  std::uint64_t batch_size = 1;  // of each rank
  bool drop_last = false;        // the last batch of an epoch, if it is short
  std::string source = {};       // as in StreamOptions: a name or digest of the data
};

// Lists are kept as kept_lists(python.list_folder) does.
[[nodiscard]] StreamOptions torch_stream(const DistributedSamplerOptions& python, TorchLoader loader);

// Lets a stream of such options, which took nothing yet, begin where a run in Python stood. Throws Failure
// where no batch begins there.
void begin_at(Stream& stream, const DistributedSamplerOptions& python, ListPosition position);

}  // namespace ratoon
