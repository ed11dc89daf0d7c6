#include <algorithm>
#include <optional>
#include <stdexcept>

#include <ratoon/failure.h>
#include <ratoon/torch_positions.h>

#include "agent/src/data/order/torch/rank_list_share.h"
#include "base/contract/exit_code.h"
#include "base/contract/fields.h"
#include "base/core/hex.h"

namespace ratoon {
namespace {

using nlohmann::json;

constexpr std::uint64_t kUint64Max = ~std::uint64_t{0};
constexpr std::size_t kPositionsBytesMax =
    64 * 1024 * 1024;  // the dictionary also contains the states of data sets
constexpr int kPositionsDepthMax = 64;

[[noreturn]] void refuse_positions(const std::string& whose, const std::string& why) {
  throw Failure(static_cast<int>(ExitCode::kConfiguration), "the position of " + whose + ": " + why);
}

json parse(std::string_view text, const std::string& whose) {
  Result<json> body = parse_json(text, kPositionsBytesMax, kPositionsDepthMax);
  if (!body) refuse_positions(whose, "the state cannot be read: " + body.error().message());
  return *std::move(body);
}

// Returns how many samples each rank takes in an epoch that options.world_size ranks share from its beginning
// to its end.
std::uint64_t samples_per_rank(const DistributedSamplerOptions& options) {
  return data::RankListShare{
      .samples = options.samples, .world_size = options.world_size, .drop_last = options.drop_last}
      .size();
}

// Returns the position in the epoch's list of samples after each rank has taken `progress` samples. If each
// rank has taken all its samples, the result is the end of the epoch, including its padding.
ListPosition position_after_samples(std::uint64_t progress, std::uint64_t epoch,
                                    const DistributedSamplerOptions& options, const std::string& whose) {
  const std::uint64_t all = samples_per_rank(options);
  if (progress > all) {
    refuse_positions(whose, "the position is after " + std::to_string(progress) +
                                " samples of each rank, but an epoch of " + std::to_string(options.samples) +
                                " samples has, for each of " + std::to_string(options.world_size) +
                                " ranks, only " + std::to_string(all) +
                                ". Pass the options of the sampler that saved the position");
  }
  return {.epoch = epoch, .consumed = progress == all ? options.samples : progress * options.world_size};
}

struct TorchdataState {
  std::uint64_t yielded = 0;  // by the sampler, at the snapshot
  json generator;             // null: the sampler has no generator
  std::uint64_t batches_since = 0;
  bool is_finished = false;
};

// Reads a sampler's state {"yielded": ...}, by itself or inside the state of a StatefulDataLoader. The state
// of a StatefulDataLoader contains the count of its BatchSampler. A StatefulDataLoader's state may also
// contain the state of a DistributedSampler or of a RandomSampler's iterator.
void read_sampler_state(Fields f, TorchdataState& state) {
  if (f.find("sampler_iter_state") != nullptr)
    return read_sampler_state(f.object("sampler_iter_state"), state);
  if (f.find("sampler_state") != nullptr) return read_sampler_state(f.object("sampler_state"), state);
  state.yielded = f.whole(f.find("yielded") != nullptr ? "yielded" : "samples_yielded", kUint64Max);
  if (const json* generator = f.find("generator")) state.generator = *generator;
}

TorchdataState read_torchdata_state(std::string_view text) {
  const std::string whose = "torchdata's sampler";
  const json body = parse(text, whose);
  std::optional<Error> complaint;
  Fields f(body, "state", complaint);
  TorchdataState state;
  state.is_finished = f.flag("_iterator_finished");
  if (f.find("_snapshot") != nullptr) {
    state.batches_since = f.whole("_steps_since_snapshot", kUint64Max);
    read_sampler_state(f.object("_snapshot").object("_main_snapshot").object("_sampler_iter_state"), state);
  } else if (f.find("_num_yielded") != nullptr) {
    read_sampler_state(f.object("_sampler_iter_state"), state);
  } else {
    read_sampler_state(f, state);
  }
  if (complaint) refuse_positions(whose, "the state cannot be read: " + complaint->message());
  return state;
}

// Returns how many samples the sampler has yielded in this epoch, which has `all` samples.
std::uint64_t yielded_samples_of(const TorchdataState& state, std::uint64_t batch_size, std::uint64_t all) {
  if (state.is_finished) return all;
  if (state.batches_since == 0) return state.yielded;
  if (batch_size == 0) {
    refuse_positions("torchdata's sampler", "the position is " + std::to_string(state.batches_since) +
                                                " batches after its snapshot at " +
                                                std::to_string(state.yielded) + " samples: pass batch_size");
  }
  const bool is_beyond = state.yielded > all || state.batches_since > (all - state.yielded) / batch_size + 1;
  return is_beyond ? kUint64Max : std::min(all, state.yielded + state.batches_since * batch_size);
}

TorchGenerator read_generator(const json& value) {
  std::string bytes;
  if (value.is_string()) {
    if (const auto decoded = from_hex(value.get_ref<const std::string&>())) bytes = *decoded;
  } else if (value.is_array()) {
    for (const json& byte : value) {
      const bool is_byte = byte.is_number_unsigned() && byte.get<std::uint64_t>() < 256;
      if (!is_byte)
        refuse_positions("torchdata's sampler", "the generator in the state is not a list of bytes");
      bytes += static_cast<char>(byte.get<std::uint64_t>());
    }
  } else {
    refuse_positions("torchdata's sampler", "the state has no generator and is not from a RandomSampler");
  }
  return TorchGenerator::from_state(bytes);
}

}  // namespace

ListPosition position_of_cycling_utils(std::string_view state, const DistributedSamplerOptions& saved_with) {
  const std::string whose = "cycling_utils' sampler";
  const json body = parse(state, whose);
  std::optional<Error> complaint;
  Fields f(body, "state", complaint);
  const std::uint64_t progress = f.whole("progress", kUint64Max);
  const std::uint64_t epoch = f.whole("epoch", kUint64Max);
  if (complaint) refuse_positions(whose, "the state cannot be read: " + complaint->message());
  return position_after_samples(progress, epoch, saved_with, whose);
}

ListPosition position_of_torchdata(std::string_view state, const DistributedSamplerOptions& saved_with,
                                   std::uint64_t epoch, std::uint64_t batch_size) {
  const TorchdataState read = read_torchdata_state(state);
  return position_after_samples(yielded_samples_of(read, batch_size, samples_per_rank(saved_with)), epoch,
                                saved_with, "torchdata's sampler");
}

void seek_to_torchdata(RandomSampler& sampler, std::string_view state, std::uint64_t batch_size) {
  if (sampler.options().flavour != SamplerFlavour::kTorchdata) {
    throw std::invalid_argument(
        "the state of torchdata's RandomSampler needs a sampler with .flavour = SamplerFlavour::kTorchdata");
  }
  const TorchdataState read = read_torchdata_state(state);
  const std::uint64_t progress = yielded_samples_of(read, batch_size, sampler.size());
  if (progress > sampler.size()) {
    refuse_positions("torchdata's sampler", "the position is after " + std::to_string(read.yielded) +
                                                " samples, but the program's epoch has " +
                                                std::to_string(sampler.size()));
  }
  sampler.seek(read_generator(read.generator), progress);
}

ListPosition position_of_dlrover(std::string_view state, const DistributedSamplerOptions& saved_with) {
  const std::string whose = "DLRover's sampler";
  const json body = parse(state, whose);
  std::optional<Error> complaint;
  Fields f(body, "state", complaint);
  const std::uint64_t completed = f.whole("completed_num", kUint64Max);
  const std::uint64_t epoch = f.whole("epoch", kUint64Max);
  if (complaint) refuse_positions(whose, "the state cannot be read: " + complaint->message());
  const std::uint64_t all = samples_per_rank(saved_with) * saved_with.world_size;
  if (completed > std::max(all, saved_with.samples)) {
    refuse_positions(whose, "the state says that " + std::to_string(completed) +
                                " samples are completed, but an epoch has " + std::to_string(all) +
                                ". If epoch " + std::to_string(epoch) + " was over, begin the next epoch");
  }
  const bool is_done = completed >= all;
  return {.epoch = epoch, .consumed = is_done ? saved_with.samples : completed};
}

MegatronPosition position_of_megatron(std::uint64_t consumed_samples, const MegatronSampler& sampler) {
  const std::string whose = "Megatron's sampler";
  if (sampler.micro_batch_size == 0 || sampler.data_parallel_size == 0)
    throw std::invalid_argument("micro_batch_size and data_parallel_size must be at least 1");
  if (sampler.is_cyclic && sampler.has_data_sharding) {
    refuse_positions(whose,
                     "with data sharding, each rank shuffles its own part of the samples, which Ratoon "
                     "does not support. Set has_data_sharding = false if Megatron-LM ran with "
                     "--no-data-sharding; otherwise finish the epoch with Megatron-LM");
  }
  const std::uint64_t round = sampler.micro_batch_size * sampler.data_parallel_size;
  const std::uint64_t an_epoch = sampler.total_samples / round * round;
  MegatronPosition found;
  found.sampler = {.samples = sampler.total_samples,
                   .world_size = sampler.data_parallel_size,
                   .rank = sampler.data_parallel_rank,
                   .shuffle = sampler.is_cyclic,
                   .drop_last = true};
  if (!sampler.is_cyclic) {
    if (consumed_samples > sampler.total_samples) {
      refuse_positions(whose, "the state says that " + std::to_string(consumed_samples) +
                                  " samples are consumed, but the data set has " +
                                  std::to_string(sampler.total_samples));
    }
    found.position = {.epoch = 0, .consumed = consumed_samples};
    return found;
  }
  if (an_epoch == 0 || consumed_samples % an_epoch % round != 0) {
    refuse_positions(whose, "the state says that " + std::to_string(consumed_samples) +
                                " samples are consumed, which is not at the end of a step: a step has " +
                                std::to_string(round) + " samples, and an epoch " + std::to_string(an_epoch));
  }
  found.sampler.samples = sampler.total_samples / sampler.micro_batch_size * sampler.micro_batch_size;
  found.position = {.epoch = consumed_samples / an_epoch, .consumed = consumed_samples % an_epoch};
  return found;
}

}  // namespace ratoon
