// Converts positions that other packages saved into Ratoon's positions: a run that began in Python continues
// in Ratoon with the same next sample.
//
//   # in Python, from the checkpoint: print(json.dumps(checkpoint["sampler"])) -> {"progress": 9, "epoch": 3}
//   ratoon::DistributedSampler sampler({.samples = 60000, .world_size = 8, .rank = rank, .seed = 0});
//   sampler.seek(ratoon::position_of_cycling_utils(text, sampler.options()));
//
// `saved_with` describes the sampler that saved the position: its world_size matters, its rank does not. The
// run may continue in a world of another size, because the position is that of the whole world. If a position
// does not fit, the functions throw a Failure with both values.
#pragma once

#include <cstdint>
#include <string_view>

#include <ratoon/torch_order.h>

namespace ratoon {

// Takes state_dict() of InterruptableDistributedSampler, of any rank. Set repeat_epoch_0 for a release of
// cycling_utils that makes its list only once, in the constructor. (InterruptableSampler does not distribute
// samples: set the world_size to 1.)
[[nodiscard]] ListPosition position_of_cycling_utils(std::string_view state,
                                                     const DistributedSamplerOptions& saved_with);

// Takes state_dict() of torchdata's StatefulDistributedSampler, or of a StatefulDataLoader over that sampler
// or torch's own, with or without workers. The states of both samplers lack the epoch. `batch_size` is needed
// only if snapshots are not taken at every step.
[[nodiscard]] ListPosition position_of_torchdata(std::string_view state,
                                                 const DistributedSamplerOptions& saved_with,
                                                 std::uint64_t epoch, std::uint64_t batch_size = 0);

// Takes state_dict() of torchdata's RandomSampler: {"yielded": ..., "generator": ...}, or of a
// StatefulDataLoader that has such a sampler. Write tensors as lists, json.dumps(state, default=lambda
// tensor: tensor.tolist()), or as hexadecimal digits.
void seek_to_torchdata(RandomSampler& sampler, std::string_view state, std::uint64_t batch_size = 0);

// Takes state_dict() of DLRover's ElasticDistributedSampler. DLRover pads a resumed epoch from the front of
// its rest, not of the whole list, so only the last samples of a resumed epoch differ from Ratoon's.
[[nodiscard]] ListPosition position_of_dlrover(std::string_view state,
                                               const DistributedSamplerOptions& saved_with);

// Megatron-LM's samplers save one number, consumed_samples.
struct MegatronSampler {
  std::uint64_t total_samples = 0;
  std::uint64_t micro_batch_size = 1;
  std::uint32_t data_parallel_size = 1;
  std::uint32_t data_parallel_rank = 0;
  bool is_cyclic = false;         // --dataloader-type cyclic; false: single
  bool has_data_sharding = true;  // false: --no-data-sharding; single has no sharding
};

struct MegatronPosition {
  DistributedSamplerOptions sampler{};
  ListPosition position{};
};

// The batches have micro_batch_size samples, and a short last batch is dropped. `cyclic`: every rank gets the
// samples that it gets in Megatron. `single`: all ranks together get the samples of Megatron; Megatron gives
// each rank consecutive samples, but Ratoon's ranks take them in turn. Sharded cyclic data is not supported,
// because there each rank permutes its own part.
[[nodiscard]] MegatronPosition position_of_megatron(std::uint64_t consumed_samples,
                                                    const MegatronSampler& sampler);

}  // namespace ratoon
