#include "operator/runtime/metrics/operator_metrics.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <prometheus/text_serializer.h>

#include "base/contract/names.h"
#include "operator/runtime/metrics/metric_family.h"

namespace ratoon::runtime {
namespace {

constexpr std::size_t kJobsPerChunk = 50;

const prometheus::Histogram::BucketBoundaries kDecisionBuckets = {0.0001, 0.0005, 0.001, 0.005,
                                                                  0.01,   0.05,   0.1,   1};
const prometheus::Histogram::BucketBoundaries kActionBuckets = {0.001, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                                0.25,  0.5,   1,    5,     30,   120};

std::string serialize(prometheus::MetricFamily family) {
  std::vector<prometheus::MetricFamily> alone;
  alone.push_back(std::move(family));
  return prometheus::TextSerializer().Serialize(alone);
}

// Removes the lines HELP and TYPE, which a metric family may have only once.
std::string_view without_help_and_type(std::string_view text) {
  while (text.starts_with('#')) text.remove_prefix(text.find('\n') + 1);
  return text;
}

}  // namespace

prometheus::Histogram& OperatorMetrics::add_decision_histogram(prometheus::Registry& registry) {
  return build(registry, prometheus::BuildHistogram(), names::metric::kReconcileSeconds,
               "Seconds that a decision took, without its execution")
      .Add({}, kDecisionBuckets);
}

prometheus::Histogram& OperatorMetrics::add_action_histogram(prometheus::Registry& registry) {
  return build(registry, prometheus::BuildHistogram(), names::metric::kNoticeSeconds,
               "Seconds from the notice that a node or a pod ends until the actions for it were done")
      .Add({}, kActionBuckets);
}

prometheus::Counter& OperatorMetrics::add_retry_counter(prometheus::Registry& registry) {
  return build(registry, prometheus::BuildCounter(), names::metric::kRetries,
               "Decisions about a job that failed or could not be carried out; each is repeated")
      .Add({});
}

void OperatorMetrics::note_status(const JobKey& key, const api::TrainingJobStatus& before,
                                  const api::TrainingJobStatus& after) {
  const MutexLock lock(mutex_);
  jobs_[key].note(before, after);
}

void OperatorMetrics::note_unreadable(const JobKey& key) {
  const MutexLock lock(mutex_);
  jobs_[key].note_unreadable();
}

void OperatorMetrics::note_decision_seconds(double seconds) {
  decision_seconds_.Observe(seconds);
}

void OperatorMetrics::note_retry() {
  retries_.Increment();
}

void OperatorMetrics::note_action_seconds(double since_notice) {
  action_seconds_.Observe(since_notice);
}

void OperatorMetrics::forget(const JobKey& key) {
  const MutexLock lock(mutex_);
  jobs_.erase(key);
}

void OperatorMetrics::write(WallTime now, const Sink& sink) {
  if (!sink(prometheus::TextSerializer().Serialize(registry_.Collect()))) return;
  for (std::size_t family = 0; family < JobMetrics::families().size(); ++family)
    if (!write_family(family, now, sink)) return;
}

// Holds no lock while a client takes a piece, because the client may be slow. So jobs may be added or removed
// between two pieces.
bool OperatorMetrics::write_family(std::size_t family, WallTime now, const Sink& sink) {
  std::optional<JobKey> last;
  for (bool is_first = true;; is_first = false) {
    auto piece = JobMetrics::families()[family];
    {
      const MutexLock lock(mutex_);
      auto job = last ? jobs_.upper_bound(*last) : jobs_.begin();
      if (job == jobs_.end()) return true;
      for (std::size_t i = 0; i < kJobsPerChunk && job != jobs_.end(); ++i, ++job) {
        job->second.add_to(family, job->first, now, piece.metric);
        last = job->first;
      }
    }
    const std::string text = serialize(std::move(piece));
    if (!sink(is_first ? std::string_view(text) : without_help_and_type(text))) return false;
  }
}

}  // namespace ratoon::runtime
