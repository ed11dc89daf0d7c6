// Converts positions that Python packages saved into Ratoon's positions. From a converted position, a run
// that began in Python continues in Ratoon with the same next sample.
//
//   # in Python, from the checkpoint: print(json.dumps(checkpoint["sampler"])) -> {"progress": 9, "epoch": 3}
//   ratoon::DistributedSampler sampler({.samples = 60000, .world_size = 8, .rank = rank, .seed = 0});
//   sampler.seek(ratoon::position_of_cycling_utils(text, sampler.options()));
//
// The argument `saved_with` describes the Python sampler that saved the position; the field `saved_with.rank`
// is ignored. The run may continue with another number of ranks, because the position is the same for all
// ranks. If a saved position does not match the sampler's options, the functions below throw a Failure that
// states both values.
#pragma once

#include <cstdint>
#include <string_view>

#include <ratoon/torch_order.h>

namespace ratoon {

// Reads the JSON text of state_dict() of cycling_utils' InterruptableDistributedSampler, saved by any rank.
// Set repeat_epoch_0 for releases of cycling_utils that shuffle only once, in the constructor. For
// InterruptableSampler, which does not distribute samples, set world_size to 1.
[[nodiscard]] ListPosition position_of_cycling_utils(std::string_view state,
                                                     const DistributedSamplerOptions& saved_with);

// Reads the JSON text of state_dict() of torchdata's StatefulDistributedSampler or StatefulDataLoader. The
// StatefulDataLoader has this sampler or torch's DistributedSampler, with or without workers. torchdata's
// state has no epoch, so the caller passes `epoch`. `batch_size` is needed only if the StatefulDataLoader did
// not take a snapshot at every step.
[[nodiscard]] ListPosition position_of_torchdata(std::string_view state,
                                                 const DistributedSamplerOptions& saved_with,
                                                 std::uint64_t epoch, std::uint64_t batch_size = 0);

// Reads the JSON text of state_dict() of torchdata's RandomSampler, or of a StatefulDataLoader with this
// sampler. In the JSON text, write tensors as lists, with json.dumps(state, default=lambda tensor:
// tensor.tolist()), or as hexadecimal digits.
void seek_to_torchdata(RandomSampler& sampler, std::string_view state, std::uint64_t batch_size = 0);

// Reads the JSON text of state_dict() of DLRover's ElasticDistributedSampler. At the end of a resumed epoch,
// DLRover and Ratoon repeat different samples to give all ranks the same number of samples.
[[nodiscard]] ListPosition position_of_dlrover(std::string_view state,
                                               const DistributedSamplerOptions& saved_with);

// MegatronSampler: options of a sampler of Megatron-LM, which saves a single number, consumed_samples.
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

// The batches of the run have micro_batch_size samples, and a last batch with fewer samples is dropped. With
// `--dataloader-type cyclic`, every rank gets the same samples as in Megatron. With `single`, all ranks
// together get the same samples as in Megatron, but divided differently between the ranks: Megatron gives
// each rank consecutive samples, and Ratoon's ranks take samples in turn. `cyclic` with data sharding is not
// supported, because then each rank permutes its own part of the data.
[[nodiscard]] MegatronPosition position_of_megatron(std::uint64_t consumed_samples,
                                                    const MegatronSampler& sampler);

}  // namespace ratoon
