#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <ratoon/failure.h>
#include <ratoon/replica_subset.h>

#include "base/contract/exit_code.h"

namespace ratoon {
namespace {

__extension__ using Uint128 = unsigned __int128;

constexpr std::uint64_t kSubsetSamplesMax = std::uint64_t{1}
                                            << 53;  // above this, a fraction of the samples is not exact
// Users may write a fraction with only nine digits. If samples * fraction therefore exceeds a whole number by
// at most 1e-9 times the product, the product is rounded down to that number. A tolerance as large as one
// sample divided by the number of ranks could leave a sample in no subset.
constexpr double kRelativeRoundingTolerance = 1e-9;
constexpr double kRoundingToleranceMax = 1e-6;

std::uint64_t subset_start_of(std::uint64_t rank, const ReplicaSubsetOptions& options) {
  return static_cast<std::uint64_t>(Uint128{options.samples} * rank / options.world_size);
}

std::uint64_t subset_size_of(const ReplicaSubsetOptions& options) {
  const auto samples = static_cast<double>(options.samples);
  const double product = options.fraction * samples;
  const double nearest = std::round(product);
  // fma() computes the rounding error of the product, so `above` contains only the rounding error of its own
  // addition.
  const double above = (product - nearest) + std::fma(options.fraction, samples, -product);
  const double tolerance =
      nearest >= 1 ? std::min(kRelativeRoundingTolerance * product, kRoundingToleranceMax) : 0;
  const auto size = static_cast<std::uint64_t>(nearest) + (above > tolerance ? 1U : 0U);
  return std::min(size, options.samples);
}

ReplicaSubsetOptions check_options(const ReplicaSubsetOptions& options) {
  if (options.samples == 0 || options.samples > kSubsetSamplesMax) {
    throw std::invalid_argument("a ReplicaSubset needs 1 to 2^53 samples, found " +
                                std::to_string(options.samples));
  }
  if (options.rank >= options.world_size) {
    throw std::invalid_argument("rank " + std::to_string(options.rank) + " does not exist in a world of " +
                                std::to_string(options.world_size));
  }
  if (!(options.fraction > 0 && options.fraction <= 1)) {
    throw std::invalid_argument(
        "the fraction of the samples that each rank holds must be above 0 and at most 1, found " +
        std::to_string(options.fraction));
  }
  return options;
}

// Returns the shortest text that parses back to `value`.
std::string shortest_text_of(double value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

}  // namespace

ReplicaSubset::ReplicaSubset(const ReplicaSubsetOptions& options)
    : options_(check_options(options)),
      start_(subset_start_of(options.rank, options)),
      size_(subset_size_of(options)) {
  if (options.shuffle_seed)
    permutation_.emplace(options.samples,
                         permutation_key(*options.shuffle_seed, "ratoon replica subset 1", 0));
}

std::uint64_t ReplicaSubset::operator[](std::uint64_t place) const {
  if (place >= size_) {
    throw std::out_of_range("place " + std::to_string(place) + " is not below " + std::to_string(size_) +
                            ", the number of samples of rank " + std::to_string(options_.rank));
  }
  const std::uint64_t on_circle = (start_ + place) % options_.samples;
  return permutation_ ? (*permutation_)(on_circle) : on_circle;
}

std::vector<std::uint64_t> ReplicaSubset::ids() const {
  std::vector<std::uint64_t> ids(size_);
  for (std::uint64_t place = 0; place < size_; ++place) ids[place] = (*this)[place];
  return ids;
}

bool ReplicaSubset::covers_all() const {
  const std::uint64_t longest_gap = (options_.samples + options_.world_size - 1) / options_.world_size;
  return size_ >= longest_gap;
}

std::uint64_t ReplicaSubset::bytes_needed(std::uint64_t bytes_a_sample) const {
  const Uint128 bytes = Uint128{size_} * bytes_a_sample;
  if (bytes > std::numeric_limits<std::uint64_t>::max())
    throw std::overflow_error(std::to_string(size_) + " samples of " + std::to_string(bytes_a_sample) +
                              " bytes have 2^64 bytes or more");
  return static_cast<std::uint64_t>(bytes);
}

void ReplicaSubset::check_fits(std::uint64_t bytes_a_sample, std::uint64_t bytes_available) const {
  const std::uint64_t bytes = bytes_needed(bytes_a_sample);
  if (bytes <= bytes_available) return;
  const double fraction =
      options_.fraction * static_cast<double>(bytes_available) / static_cast<double>(bytes);
  throw Failure(static_cast<int>(ExitCode::kConfiguration),
                "rank " + std::to_string(options_.rank) + " would hold " + std::to_string(size_) +
                    " samples of " + std::to_string(bytes_a_sample) + " bytes, " + std::to_string(bytes) +
                    " in all, but only " + std::to_string(bytes_available) +
                    " are free. Use a fraction of at most " + shortest_text_of(fraction) + " instead of " +
                    shortest_text_of(options_.fraction));
}

StreamOptions ReplicaSubset::stream(StreamOptions options) const {
  options.samples = size_;
  options.source += " rank " + std::to_string(options_.rank) + " of " + std::to_string(options_.world_size) +
                    " holds " + shortest_text_of(options_.fraction) + " of " +
                    std::to_string(options_.samples);
  if (options_.shuffle_seed) options.source += " shuffled by " + std::to_string(*options_.shuffle_seed);
  return options;
}

}  // namespace ratoon
