// The metrics of one job for Prometheus. The numbers are stored compactly and become series only during a
// scrape, because 1000 jobs have 20,000 series.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>

#include "operator/api/training_job.h"

namespace ratoon::runtime {

inline constexpr std::array kRecoveryBucketBounds = {0.01, 0.05, 0.1, 0.25, 0.5,  1.0,  2.0,  3.0,
                                                     4.0,  5.0,  6.0, 8.0,  12.0, 20.0, 60.0, 300.0};
inline constexpr std::size_t kRecoveryPartCount = 8;  // the phases of a recovery, and their sum

// A histogram of the durations of one phase of the job's recoveries.
struct PhaseHistogram {
  std::array<std::uint64_t, kRecoveryBucketBounds.size() + 1> counts{};  // by bucket; the last has no bound
  double sum = 0;

  void observe(double seconds);
};

class JobMetrics {
 public:
  // Updates the metrics from the status after a decision (`after`) and the stored status before it
  // (`before`).
  void note(const api::TrainingJobStatus& before, const api::TrainingJobStatus& after);
  // Records that the job cannot be read. Its other series keep their values, if the job was ever read.
  void note_unreadable();

  // Returns the metric families without series; the families are the same for all jobs.
  [[nodiscard]] static std::span<const prometheus::MetricFamily> families();
  // Adds this job's current series for one family; `family` is its index in families().
  void add_to(std::size_t family, const JobKey& key, WallTime now,
              std::vector<prometheus::ClientMetric>& series);

 private:
  void add_ledger(const JobKey& key, WallTime now, std::vector<prometheus::ClientMetric>& series);
  void add_recoveries(const JobKey& key, std::vector<prometheus::ClientMetric>& series) const;

  bool has_status_ = false;
  std::vector<std::string> problems_;  // reasons of conditions
  api::JobPhase phase_ = api::JobPhase::kPending;
  std::uint64_t attempt_ = 0;
  std::uint64_t step_ = 0;
  std::uint64_t durable_step_ = 0;
  std::uint32_t world_size_ = 0;
  api::Restarts restarts_;  // totals over all leaders
  api::JobTimeLedger ledger_;
  std::array<double, api::kTimeLedgerPartCount>
      reported_ledger_{};  // reported ledger: a counter never decreases
  std::unique_ptr<std::array<PhaseHistogram, kRecoveryPartCount>> recoveries_;  // null: none yet
};

}  // namespace ratoon::runtime
