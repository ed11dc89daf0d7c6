// Metrics: running sums of what a training reports, kept in its checkpoints: the mean over an epoch is the
// same number, bit for bit, whether the run was interrupted in the middle of it or not.
//
//   ratoon::Metrics metrics;
//   session.track("metrics", metrics);
//   metrics.report("loss", loss.item<double>(), batch_size);
//   if (is_epoch_over) { log(metrics.find("loss")->mean()); metrics.reset(); }
//
// Over ranks: merge the others' into a copy, in rank order, so that all come to the same bits. Each rank
// reports what is its own. In a world of another size a new rank begins with nothing, and what a rank that is
// gone has reported goes on with another one: merged they have the samples that they had.
//
// Thread contract: one thread at a time.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/stateful.h>

namespace ratoon {

// What was reported under one name. Not a number stays in the sums and is left out of min and max.
struct Metric {
  std::uint64_t reports = 0;
  std::uint64_t samples = 0;
  double sum = 0;           // of the values
  double weighted_sum = 0;  // of each value times its samples
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();

  // Weighted by samples; not a number without any.
  [[nodiscard]] double mean() const { return weighted_sum / static_cast<double>(samples); }
};

class Metrics : public Stateful {
 public:
  // A value that is the mean of so many samples. A name of 1 to 255 bytes of UTF-8, or std::invalid_argument.
  void report(std::string_view name, double value, std::uint64_t samples = 1);

  [[nodiscard]] const Metric* find(std::string_view name) const;  // nullptr: nothing was reported
  [[nodiscard]] const std::map<std::string, Metric, std::less<>>& all() const { return metrics_; }

  void merge(const Metrics& other);
  void reset() { metrics_.clear(); }

  // JSON, always the same text for the same bits.
  [[nodiscard]] std::string save_state() const override;
  // Throws Failure if it is something else; then nothing is taken over.
  void load_state(std::string_view state) override;
  [[nodiscard]] bool adds_up_over_ranks() const override { return true; }
  void load_states(const std::vector<std::string>& states) override;

 private:
  std::map<std::string, Metric, std::less<>> metrics_;
};

}  // namespace ratoon
