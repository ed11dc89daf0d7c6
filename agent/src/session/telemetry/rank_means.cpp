#include "agent/src/session/telemetry/rank_means.h"

namespace ratoon::session {
namespace {

// Each rank computes marks from a hash of the names of its values. A mark has only 4 bits, so that single
// precision holds the exact sum of the squared marks of up to 65,536 ranks, the maximum of a run.
constexpr std::uint64_t kNameMarkBits = 4;

// The hash is FNV-1a, which gives the same result on every machine.
std::uint64_t fnv1a_hash_of(std::string_view text, std::uint64_t digest) {
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return (digest ^ 0xff) * 0x100000001b3;  // marks the end of a name
}

// Returns whether all ranks have the same mark (a small number from a hash of the names). The mean of the
// squares equals the square of the mean only if all marks are equal.
bool is_mark_equal_on_all_ranks(float sum, float sum_of_squares, float own, float ranks) {
  return sum == ranks * own && sum_of_squares == ranks * own * own;
}

}  // namespace

void RankMeans::report(std::string_view name, double value, std::uint64_t samples) {
  auto found = sums_.find(name);
  if (found == sums_.end()) found = sums_.emplace(std::string(name), Sum{}).first;
  if (samples == 0) return;  // a mean of no samples may be NaN, and NaN times 0 stays NaN
  found->second.weighted += value * static_cast<double>(samples);
  found->second.samples += static_cast<double>(samples);
}

RankMeans::Numbers RankMeans::numbers() const {
  Numbers numbers{};
  std::uint64_t digest = 0xcbf29ce484222325;
  std::size_t at = kNameHashNumbers;
  for (const auto& [name, sum] : sums_) {
    if (at == kNumbers) break;
    digest = fnv1a_hash_of(name, digest);
    numbers[at++] = static_cast<float>(sum.weighted);
    numbers[at++] = static_cast<float>(sum.samples);
  }
  for (std::size_t i = 0; i < kNameHashNumbers; i += 2) {
    const float mark =
        static_cast<float>((digest >> (kNameMarkBits * i)) % (std::uint64_t{1} << kNameMarkBits));
    numbers[i] = mark;
    numbers[i + 1] = mark * mark;
  }
  return numbers;
}

std::vector<RankMeans::Mean> RankMeans::take(std::span<const float, kNumbers> sums,
                                             std::uint32_t world_size) {
  const Numbers own = numbers();
  bool is_known = true;
  for (std::size_t i = 0; i < kNameHashNumbers; i += 2) {
    const bool is_same =
        is_mark_equal_on_all_ranks(sums[i], sums[i + 1], own[i], static_cast<float>(world_size));
    is_known = is_known && is_same;
  }
  std::vector<Mean> means = take_own_means();
  if (!is_known) return means;
  std::size_t at = kNameHashNumbers;
  for (Mean& mean : means) {
    if (at == kNumbers) break;
    mean.weighted_sum = static_cast<double>(sums[at++]);
    mean.samples = static_cast<double>(sums[at++]);
    mean.is_of_all_ranks = true;
  }
  return means;
}

std::vector<RankMeans::Mean> RankMeans::take_own_means() {
  std::vector<Mean> means;
  means.reserve(sums_.size());
  for (const auto& [name, sum] : sums_)
    means.push_back({.name = name, .weighted_sum = sum.weighted, .samples = sum.samples});
  sums_.clear();
  return means;
}

}  // namespace ratoon::session
