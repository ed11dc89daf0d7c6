// RankMeans: computes the means over all ranks of the values that each rank reports, weighted by samples. The
// collective that averages the gradients also sums the values for the means. The numbers include a hash of
// the names of values, which shows whether all ranks report the same names. If ranks report different names,
// each rank keeps and shows its own values.
//
//   means.report("loss", 0.25, 32);                     // on every rank
//   add_up_over_all_ranks(means.numbers());
//   for (const auto& mean : means.take(sums, world_size)) show(mean.name, mean.value());
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ratoon::session {

class RankMeans {
 public:
  static constexpr std::size_t kNames = 12;  // the first in order; the values of others stay those of a rank
  static constexpr std::size_t kNameHashNumbers = 8;  // of the names: four numbers and their squares
  static constexpr std::size_t kNumbers = kNameHashNumbers + 2 * kNames;  // Session::kNumbers
  using Numbers = std::array<float, kNumbers>;

  struct Mean {
    std::string name;
    double weighted_sum = 0;
    double samples = 0;
    bool is_of_all_ranks = false;

    [[nodiscard]] double value() const { return weighted_sum / samples; }
  };

  void report(std::string_view name, double value, std::uint64_t samples);
  // Returns the values that this rank reported since the last take(), as numbers that the ranks sum.
  [[nodiscard]] Numbers numbers() const;
  // Computes the means from the sums over `world_size` ranks, and removes the reported values. With a single
  // process, `sums` is ignored.
  [[nodiscard]] std::vector<Mean> take(std::span<const float, kNumbers> sums, std::uint32_t world_size);
  [[nodiscard]] std::vector<Mean> take_own_means();

 private:
  struct Sum {
    double weighted = 0;
    double samples = 0;
  };
  std::map<std::string, Sum, std::less<>> sums_;
};

}  // namespace ratoon::session
