// The packages torch and torchdata draw random numbers in different orders. For an epoch of n samples from a
// data set of N samples, torch draws:
//   1. the random number of the loader;
//   2. a seed, if the sampler has no generator;
//   3. floor(n / N) permutations of all samples;
//   4. one more permutation, from which it takes the remaining samples (none if N divides n).
// torchdata draws:
//   1. the first permutation;
//   2. the random number of the loader;
//   3. with workers, the first permutation again, because the loader creates its iterator twice (the loader
//      saves the state of the generator between the two creations);
//   4. each further permutation, when the sampler reaches it.
// With replacement, torch draws only as many numbers as it returns; torchdata draws 32 at a time and keeps
// the numbers that it does not need yet.
#include <algorithm>
#include <stdexcept>

#include <ratoon/torch_order.h>

#include "agent/src/data/order/torch/torch_randperm.h"
#include "agent/src/data/order/torch/torch_sampler_state.h"

namespace ratoon {
namespace {

constexpr std::uint64_t kDrawsPerChunk = 32;
constexpr std::uint64_t kRandomNumbersOfLoader = 2;
constexpr std::uint64_t kSamplesMax = std::uint64_t{1} << 53;

// torch.randint takes the remainder of 32 random bits for small ranges, and of 64 bits for large ranges. The
// limit between small and large ranges is 2^32 in PyTorch 2.6 and before, and 2^28 in later releases.
// TorchRelease::kSince2_6 has the limit of later releases.
std::uint64_t random_numbers_per_draw(const RandomSamplerOptions& options) {
  const int bits = options.release == TorchRelease::kBefore2_6 ? 32 : 28;
  return options.samples < std::uint64_t{1} << bits ? 1 : 2;
}

std::uint64_t random_numbers_per_permutation(const RandomSamplerOptions& options) {
  return data::random_numbers_of_randperm(options.samples, options.release);
}

bool is_torchdata(const RandomSamplerOptions& options) {
  return options.flavour == SamplerFlavour::kTorchdata;
}

// Returns for how many samples torchdata's sampler draws random numbers at once.
std::uint64_t samples_per_chunk(const RandomSamplerOptions& options) {
  return options.replacement ? kDrawsPerChunk : options.samples;
}

std::uint64_t random_numbers_per_chunk(const RandomSamplerOptions& options) {
  return options.replacement ? kDrawsPerChunk * random_numbers_per_draw(options)
                             : random_numbers_per_permutation(options);
}

RandomSamplerOptions check_options(RandomSamplerOptions options) {
  if (options.samples == 0 || options.samples > kSamplesMax) {
    throw std::invalid_argument("a RandomSampler needs 1 to 2^53 samples, found " +
                                std::to_string(options.samples));
  }
  if (options.num_samples == 0) options.num_samples = options.samples;
  if (options.num_samples > kSamplesMax) {
    throw std::invalid_argument("an epoch of a RandomSampler has up to 2^53 samples, found " +
                                std::to_string(options.num_samples));
  }
  if (options.seeds_each_epoch && is_torchdata(options)) {
    throw std::invalid_argument(
        "torchdata's RandomSampler draws its seed once: give it TorchGenerator(default.draw_seed()) and "
        "leave "
        "seeds_each_epoch off");
  }
  return options;
}

}  // namespace

RandomSampler::RandomSampler(RandomSamplerOptions options, const TorchGenerator& generator)
    : options_(check_options(options)), generator_(generator) {
  enter_epoch();
}

bool RandomSampler::has_loader_draw() const {
  if (options_.loader == Loader::kPersistentWorkers) return epoch_ == 0;
  return options_.loader != Loader::kNone;
}

// Discards the first permutation, which torchdata's loader with workers draws and does not use.
void RandomSampler::enter_epoch() {
  if (!is_torchdata(options_) || options_.loader == Loader::kInProcess || !has_loader_draw()) return;
  generator_.discard(random_numbers_per_chunk(options_) + kRandomNumbersOfLoader);
}

// Returns true if torchdata's loader without workers has drawn its random number before the sample at
// position `place` of the epoch.
bool RandomSampler::is_after_loader_draw(std::uint64_t place) const {
  return is_torchdata(options_) && options_.loader == Loader::kInProcess &&
         place >= samples_per_chunk(options_);
}

// Returns the generator from which the samples are drawn. Advances `outer` past the numbers that PyTorch
// draws before the samples.
TorchGenerator RandomSampler::generator_of_samples(TorchGenerator& outer) const {
  if (is_torchdata(options_)) return outer;
  if (has_loader_draw()) outer.discard(kRandomNumbersOfLoader);
  return options_.seeds_each_epoch ? TorchGenerator(outer.draw_seed()) : outer;
}

TorchGenerator RandomSampler::generator_of_next_epoch() const {
  TorchGenerator outer = generator_;
  TorchGenerator inner = generator_of_samples(outer);
  if (options_.seeds_each_epoch) return outer;
  const std::uint64_t count = options_.num_samples;
  if (is_torchdata(options_)) {
    const std::uint64_t units = (count + samples_per_chunk(options_) - 1) / samples_per_chunk(options_);
    inner.discard(units * random_numbers_per_chunk(options_));
    if (options_.loader == Loader::kInProcess) inner.discard(kRandomNumbersOfLoader);
  } else if (options_.replacement) {
    inner.discard(count * random_numbers_per_draw(options_));
  } else {
    inner.discard((count / options_.samples + 1) * random_numbers_per_permutation(options_));
  }
  return inner;
}

void RandomSampler::begin_next_epoch() {
  generator_ = generator_of_next_epoch();
  ++epoch_;
  progress_ = 0;
  reader_.reset();
  enter_epoch();
}

RandomSampler::Reader RandomSampler::reader_at(std::uint64_t progress) const {
  TorchGenerator outer = generator_;
  Reader reader{.generator = generator_of_samples(outer), .permutation = {}, .fetched = progress};
  if (progress == 0) return reader;
  if (options_.replacement) {
    reader.generator.discard(progress * random_numbers_per_draw(options_));
    if (is_after_loader_draw(progress - 1)) reader.generator.discard(kRandomNumbersOfLoader);
    return reader;
  }
  const std::uint64_t before = (progress - 1) / options_.samples;  // permutations that are used up
  reader.generator.discard(before * random_numbers_per_permutation(options_));
  if (is_after_loader_draw(progress - 1)) reader.generator.discard(kRandomNumbersOfLoader);
  reader.permutation = torch_randperm(options_.samples, reader.generator, options_.release);
  return reader;
}

std::uint64_t RandomSampler::draw_one(Reader& reader) const {
  const std::uint64_t place = reader.fetched++;
  if (place == samples_per_chunk(options_) && is_after_loader_draw(place))
    reader.generator.discard(kRandomNumbersOfLoader);
  if (!options_.replacement) {
    if (place % options_.samples == 0) {
      reader.permutation = {};  // two at a time would need twice the memory
      reader.permutation = torch_randperm(options_.samples, reader.generator, options_.release);
    }
    return reader.permutation[place % options_.samples];
  }
  if (random_numbers_per_draw(options_) == 1) return reader.generator.random() % options_.samples;
  return reader.generator.random64() % options_.samples;
}

std::vector<std::uint64_t> RandomSampler::fetch(std::uint64_t count) {
  if (!reader_) reader_ = reader_at(progress_);
  std::vector<std::uint64_t> samples(std::min(count, size() - reader_->fetched));
  for (std::uint64_t& sample : samples) sample = draw_one(*reader_);
  return samples;
}

void RandomSampler::advance(std::uint64_t samples) {
  if (samples > remaining()) {
    throw std::invalid_argument("advance(" + std::to_string(samples) + ") goes beyond the end of epoch " +
                                std::to_string(epoch_) + ": " + std::to_string(remaining()) +
                                " samples are left. Call begin_next_epoch() first");
  }
  progress_ += samples;
  if (reader_ && reader_->fetched < progress_) reader_.reset();
}

void RandomSampler::rewind() {
  reader_.reset();
}

void RandomSampler::seek(const TorchGenerator& generator, std::uint64_t progress) {
  if (progress > size()) {
    throw std::invalid_argument("there is no sample " + std::to_string(progress) + " in an epoch of " +
                                std::to_string(size()));
  }
  generator_ = generator;
  progress_ = progress;
  reader_.reset();
}

std::string RandomSampler::save_state() const {
  return data::encode_random_state(options_, {epoch_, progress_, generator_});
}

void RandomSampler::load_state(std::string_view state) {
  const data::RandomSamplerPosition position = data::read_random_state(state, options_);
  seek(position.generator, position.progress);
  epoch_ = position.epoch;
}

}  // namespace ratoon
