// Metrics: running sums of the values that a training run reports, kept in its checkpoints. The mean over an
// epoch is bit-for-bit the same with and without an interruption in the middle.
//
//   ratoon::Metrics metrics;
//   session.track("metrics", metrics);
//   metrics.report("loss", loss.item<double>(), batch_size);
//   if (is_epoch_over) { log(metrics.find("loss")->mean()); metrics.reset(); }
//
// Each rank reports its own values. To combine them, merge the metrics of all ranks into a copy, in rank
// order, so that all ranks compute the same bits. If the number of ranks changes, a new rank begins with
// empty sums, and a remaining rank adds the sums of ranks that ended. Together, the sums of all ranks still
// cover the same samples as before the number of ranks changed.
//
// Thread contract: only one thread at a time may use an object.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/stateful.h>

namespace ratoon {

// The sums of the values that were reported under one name. A reported NaN is added to the sums, but does not
// change `min` and `max`.
struct Metric {
  std::uint64_t reports = 0;
  std::uint64_t samples = 0;
  double sum = 0;           // of the values
  double weighted_sum = 0;  // of each value times its samples
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();

  // The mean of the values, weighted by their numbers of samples; NaN if there are no samples.
  [[nodiscard]] double mean() const { return weighted_sum / static_cast<double>(samples); }
};

class Metrics : public Stateful {
 public:
  // Reports `value`, which is the mean over `samples` samples. Throws std::invalid_argument unless the name
  // is UTF-8 of 1 to 255 bytes.
  void report(std::string_view name, double value, std::uint64_t samples = 1);

  // Returns nullptr if nothing was reported under this name.
  [[nodiscard]] const Metric* find(std::string_view name) const;
  [[nodiscard]] const std::map<std::string, Metric, std::less<>>& all() const { return metrics_; }

  void merge(const Metrics& other);
  void reset() { metrics_.clear(); }

  // Returns JSON; metrics with the same bits always give the same text.
  [[nodiscard]] std::string save_state() const override;
  // Throws Failure, and changes nothing, if the state was not saved by Metrics.
  void load_state(std::string_view state) override;
  [[nodiscard]] bool adds_up_over_ranks() const override { return true; }
  void load_states(const std::vector<std::string>& states) override;

 private:
  std::map<std::string, Metric, std::less<>> metrics_;
};

}  // namespace ratoon
