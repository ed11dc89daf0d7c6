// Positions that other packages saved, as places in ours: a run that began in Python goes on here with the
// sample that it would have trained next.
//
//   # in Python, from the checkpoint: print(json.dumps(checkpoint["sampler"])) -> {"progress": 9, "epoch": 3}
//   ratoon::DistributedSampler sampler({.samples = 60000, .world_size = 8, .rank = rank, .seed = 0});
//   sampler.seek(ratoon::position_of_cycling_utils(text, sampler.options()));
//
// `saved_with` is the sampler that saved: its world_size counts, its rank does not. Going on in a world of
// another size is right; the position is the whole world's. A position that does not fit throws Failure with
// both values.
#pragma once

#include <cstdint>
#include <string_view>

#include <ratoon/torch_order.h>

namespace ratoon {

// state_dict() of InterruptableDistributedSampler, of any rank. Set repeat_epoch_0 for a release that makes
// its list once, in the constructor. (For InterruptableSampler, which shares nothing out, the world_size
// is 1.)
[[nodiscard]] ListPosition position_of_cycling_utils(std::string_view state,
                                                     const DistributedSamplerOptions& saved_with);

// state_dict() of torchdata's StatefulDistributedSampler, or of a StatefulDataLoader that has one (or has
// torch's own), in process or with workers. Neither says the epoch. `batch_size` is needed only where
// snapshots are not taken at every step.
[[nodiscard]] ListPosition position_of_torchdata(std::string_view state,
                                                 const DistributedSamplerOptions& saved_with,
                                                 std::uint64_t epoch, std::uint64_t batch_size = 0);

// The same for torchdata's RandomSampler: {"yielded": ..., "generator": ...}, or a StatefulDataLoader that
// has one. A tensor is written as its list, json.dumps(state, default=lambda tensor: tensor.tolist()), or as
// hexadecimal digits.
void seek_to_torchdata(RandomSampler& sampler, std::string_view state, std::uint64_t batch_size = 0);

// state_dict() of DLRover's ElasticDistributedSampler. After it has resumed, DLRover fills up from the front
// of the rest and not of the whole list; so do only its last samples of such an epoch differ.
[[nodiscard]] ListPosition position_of_dlrover(std::string_view state,
                                               const DistributedSamplerOptions& saved_with);

// Megatron-LM's samplers save one number, consumed_samples.
struct MegatronSampler {
  std::uint64_t total_samples = 0;
  std::uint64_t micro_batch_size = 1;
  std::uint32_t data_parallel_size = 1;
  std::uint32_t data_parallel_rank = 0;
  bool is_cyclic = false;         // --dataloader-type cyclic; else single
  bool has_data_sharding = true;  // false: --no-data-sharding; single has none
};

struct MegatronPosition {
  DistributedSamplerOptions sampler{};
  ListPosition position{};
};

// With batches of micro_batch_size, the last short one dropped. `cyclic`: the samples of every rank.
// `single`: those of all ranks together; Megatron gives each rank neighbours, here they are dealt out one by
// one. Sharded cyclic data cannot be taken over: each rank permutes a part of its own.
[[nodiscard]] MegatronPosition position_of_megatron(std::uint64_t consumed_samples,
                                                    const MegatronSampler& sampler);

}  // namespace ratoon
