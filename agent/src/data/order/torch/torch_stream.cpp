#include <ratoon/failure.h>
#include <ratoon/torch_stream.h>

#include "base/contract/exit_code.h"

namespace ratoon {

StreamOptions torch_stream(const DistributedSamplerOptions& python, TorchLoader loader) {
  StreamOptions options;
  options.samples = python.samples;
  options.global_batch = loader.batch_size * python.world_size;
  options.seed = python.seed;
  options.source = std::move(loader.source);
  options.order = SampleOrder::kTorch;
  options.epoch_end = loader.drop_last ? EpochEnd::kDrop : EpochEnd::kShort;
  options.torch = {.world_size = python.world_size,
                   .batch_size = loader.batch_size,
                   .shuffle = python.shuffle,
                   .drop_last = python.drop_last,
                   .repeat_epoch_0 = python.repeat_epoch_0,
                   .release = python.release,
                   .lists = kept_lists(python.list_folder)};
  return options;
}

namespace {

// Returns true if PyTorch's loader (drop_last) leaves out the rest of the epoch, which is less than a batch.
bool is_rest_dropped(const Stream& stream, ListPosition position) {
  const std::uint64_t slots = stream.epoch_slots();
  const std::uint64_t batch = stream.global_batch();
  if (position.consumed % batch != 0 || position.consumed >= slots || slots - position.consumed >= batch)
    return false;
  const std::uint64_t batches = position.epoch * stream.batches_per_epoch() + position.consumed / batch;
  return stream.reader().batch(batches).first == (position.epoch + 1) * slots;
}

}  // namespace

void begin_at(Stream& stream, const DistributedSamplerOptions& python, ListPosition position) {
  const bool is_done = position.consumed >= python.samples || is_rest_dropped(stream, position);
  const std::uint64_t epoch = position.epoch + (is_done ? 1 : 0);
  const std::uint64_t consumed = is_done ? 0 : position.consumed;
  const std::uint64_t batches = epoch * stream.batches_per_epoch() + consumed / stream.global_batch();
  const SlotRange batch = stream.reader().batch(batches);
  const std::uint64_t slot = epoch * stream.epoch_slots() + consumed;
  if (batch.first != slot) {
    throw Failure(static_cast<int>(ExitCode::kConfiguration),
                  "a position of PyTorch's sampler does not fit: " + std::to_string(consumed) +
                      " samples of epoch " + std::to_string(epoch) +
                      " are trained, but no batch ends there: a batch has " +
                      std::to_string(stream.global_batch()) +
                      " samples. Give the batch size of the run in Python, or use a DistributedSampler");
  }
  stream.begin_at(slot, batches);
}

}  // namespace ratoon
