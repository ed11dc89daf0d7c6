// operator/runtime/metrics/: the pages for Prometheus and for kubelet's probes. OperatorMetrics: the metrics
// of jobs, such as phase, progress, losses and recovery durations. The operator, and not the members, serves
// these metrics, so that their time series continue when members are replaced.
//
// Thread contract: every method may be called from any thread.
#pragma once

#include <functional>
#include <map>
#include <string_view>

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "base/core/threads/mutex.h"
#include "operator/api/training_job.h"
#include "operator/runtime/metrics/job_metrics.h"

namespace ratoon::runtime {

class OperatorMetrics {
 public:
  // Updates the metrics from the status after a decision (`after`) and the stored status before it
  // (`before`).
  void note_status(const JobKey& job, const api::TrainingJobStatus& before,
                   const api::TrainingJobStatus& after);
  void note_unreadable(const JobKey& job);
  void note_decision_seconds(double seconds);  // these three are for all jobs together
  void note_retry();
  void note_action_seconds(double since_notice);
  void forget(const JobKey& job);

  // Receives the next piece of the text; returns false if it needs no further pieces.
  using Sink = std::function<bool(std::string_view)>;
  // Writes all metrics in Prometheus' text format, piece by piece, because the text for 1000 jobs has 20
  // MB.
  void write(WallTime now, const Sink& sink);

 private:
  bool write_family(std::size_t family, WallTime now, const Sink& sink);

  prometheus::Registry registry_;
  prometheus::Histogram& decision_seconds_ = add_decision_histogram(registry_);
  prometheus::Histogram& action_seconds_ = add_action_histogram(registry_);
  prometheus::Counter& retries_ = add_retry_counter(registry_);
  Mutex mutex_;
  std::map<JobKey, JobMetrics> jobs_ RATOON_GUARDED_BY(mutex_);

  static prometheus::Histogram& add_decision_histogram(prometheus::Registry& registry);
  static prometheus::Histogram& add_action_histogram(prometheus::Registry& registry);
  static prometheus::Counter& add_retry_counter(prometheus::Registry& registry);
};

}  // namespace ratoon::runtime
