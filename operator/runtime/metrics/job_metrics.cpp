#include "operator/runtime/metrics/job_metrics.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/contract/names.h"
#include "base/core/never_destroyed.h"

namespace ratoon::runtime {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

enum FamilyIndex : std::size_t {
  kPhase,
  kAttempt,
  kStep,
  kDurableStep,
  kWorldSize,
  kRestarts,
  kLedger,
  kStepsMadeAgain,
  kProblem,
  kRecovery
};

constexpr std::array kPhases = {api::JobPhase::kPending,    api::JobPhase::kRunning,
                                api::JobPhase::kRecovering, api::JobPhase::kSuspended,
                                api::JobPhase::kSucceeded,  api::JobPhase::kFailed};
constexpr std::array<std::pair<std::string_view, std::uint32_t api::Restarts::*>, 3> kRestartCauses = {
    {{"application", &api::Restarts::application},
     {"hung", &api::Restarts::hung},
     {"disruption", &api::Restarts::disruption}}};
// Label values for the parts of a job's time, in the order of the enum TimeLedgerPart.
constexpr std::array<std::string_view, api::kTimeLedgerPartCount> kLedgerNames = {
    "useful", "recomputed", "waiting_for_capacity", "restarting", "hung", "suspended"};
constexpr std::array<std::string_view, kRecoveryPartCount> kRecoveryPartNames = {
    "detect", "decide", "place", "start", "rendezvous", "load", "first_step", "total"};

std::array<double, kRecoveryPartCount> recovery_part_seconds(const api::RecoveryPhases& phases) {
  return {phases.detect_seconds,     phases.decide_seconds,     phases.place_seconds,
          phases.start_seconds,      phases.rendezvous_seconds, phases.load_seconds,
          phases.first_step_seconds, phases.total_seconds()};
}

MetricFamily make_family(std::string_view name, const char* help, MetricType type) {
  return {.name = std::string(name), .help = help, .type = type, .metric = {}};
}

// Returns a series with the job's labels; labels must be sorted by name.
ClientMetric series_with_labels(const JobKey& key) {
  ClientMetric metric;
  metric.label = {{std::string(names::metric_label::kTrainingJob), key.name},
                  {std::string(names::metric_label::kTrainingNamespace), key.name_space}};
  return metric;
}

ClientMetric series_with_labels(const JobKey& key, const char* name, std::string_view value) {
  ClientMetric metric = series_with_labels(key);
  metric.label.push_back({name, std::string(value)});
  std::sort(metric.label.begin(), metric.label.end());
  return metric;
}

ClientMetric with_gauge(ClientMetric metric, double value) {
  metric.gauge.value = value;
  return metric;
}

// Returns why the job does not start. Ignores old conditions of a suspended or finished job.
std::vector<std::string> problems_in(const api::TrainingJobStatus& status) {
  std::vector<std::string> reasons;
  if (api::is_over(status.phase) || status.phase == api::JobPhase::kSuspended) return reasons;
  for (const auto& condition : status.conditions) {
    const bool is_problem = condition.type == api::condition::kInvalidSpec
                                ? condition.is_true
                                : condition.type == api::condition::kScheduled && !condition.is_true;
    if (is_problem) reasons.push_back(condition.reason);
  }
  return reasons;
}

ClientMetric::Histogram histogram_of(const PhaseHistogram& part) {
  ClientMetric::Histogram histogram;
  for (std::size_t i = 0; i < kRecoveryBucketBounds.size(); ++i) {
    histogram.sample_count += part.counts[i];
    histogram.bucket.push_back(
        {.cumulative_count = histogram.sample_count, .upper_bound = kRecoveryBucketBounds[i]});
  }
  histogram.sample_count += part.counts.back();
  histogram.sample_sum = part.sum;
  return histogram;
}

}  // namespace

void PhaseHistogram::observe(double seconds) {
  const auto bound = std::lower_bound(kRecoveryBucketBounds.begin(), kRecoveryBucketBounds.end(), seconds);
  ++counts[static_cast<std::size_t>(bound - kRecoveryBucketBounds.begin())];
  sum += seconds;
}

void JobMetrics::note(const api::TrainingJobStatus& before, const api::TrainingJobStatus& after) {
  has_status_ = true;
  problems_ = problems_in(after);
  phase_ = after.phase;
  attempt_ = after.attempt.value();
  step_ = after.step.value();
  durable_step_ = after.last_checkpoint ? after.last_checkpoint->step.value() : 0;
  world_size_ = after.world_size;
  restarts_ = after.restarts;
  ledger_ = after.ledger;
  if (before.ledger == api::JobTimeLedger{}) reported_ledger_ = {};  // a new job of this name: counts from 0
  if (!after.last_disruption || after.last_disruption == before.last_disruption) return;
  if (!recoveries_) recoveries_ = std::make_unique<std::array<PhaseHistogram, kRecoveryPartCount>>();
  const auto parts = recovery_part_seconds(after.last_disruption->phases);
  for (std::size_t i = 0; i < parts.size(); ++i) (*recoveries_)[i].observe(parts[i]);
}

void JobMetrics::note_unreadable() {
  problems_ = {std::string(api::condition::kUnreadable)};
}

std::span<const MetricFamily> JobMetrics::families() {
  using enum MetricType;
  static const NeverDestroyed<std::vector<MetricFamily>> all(std::vector{
      make_family(names::metric::kJobPhase, "1 for the present phase of the job", Gauge),
      make_family(names::metric::kJobAttempt, "Attempt number of the newest world of the job", Gauge),
      make_family(names::metric::kJobStep, "Steps that the job has completed", Gauge),
      make_family(names::metric::kJobDurableStep, "Steps whose results are in a committed checkpoint", Gauge),
      make_family(names::metric::kJobWorldSize, "Processes that train together; 0 while a world forms",
                  Gauge),
      make_family(names::metric::kRestarts, "Members that were replaced, by cause", Counter),
      make_family(names::metric::kJobLedgerSeconds, "Seconds since the job began, by purpose", Counter),
      make_family(names::metric::kJobStepsMadeAgain, "Steps that were lost with a world and made again",
                  Counter),
      make_family(
          names::metric::kJobProblem,
          "1 for the reason of the condition InvalidSpec while it is True, and of Scheduled while it is "
          "False",
          Gauge),
      make_family(names::metric::kRecoverySeconds,
                  "Seconds from a member's last sign of life until all members have made a step, by phase",
                  Histogram)});
  return *all;
}

void JobMetrics::add_to(std::size_t family, const JobKey& key, WallTime now,
                        std::vector<ClientMetric>& series) {
  if (!has_status_ && family != kProblem) return;
  const auto add = [&](auto value) {
    series.push_back(with_gauge(series_with_labels(key), static_cast<double>(value)));
  };
  switch (family) {
    case kPhase:
      for (const auto phase : kPhases)
        series.push_back(
            with_gauge(series_with_labels(key, "phase", api::name_of(phase)), phase == phase_ ? 1 : 0));
      return;
    case kAttempt:
      return add(attempt_);
    case kStep:
      return add(step_);
    case kDurableStep:
      return add(durable_step_);
    case kWorldSize:
      return add(world_size_);
    case kRestarts:
      for (const auto& [cause, total] : kRestartCauses) {
        series.push_back(series_with_labels(key, "cause", cause));
        series.back().counter.value = static_cast<double>(restarts_.*total);
      }
      return;
    case kLedger:
      return add_ledger(key, now, series);
    case kStepsMadeAgain:
      series.push_back(series_with_labels(key));
      series.back().counter.value = static_cast<double>(ledger_.repeated_step_count);
      return;
    case kProblem:
      for (const auto& reason : problems_)
        series.push_back(with_gauge(series_with_labels(key, "reason", reason), 1));
      return;
    default:
      return add_recoveries(key, series);
  }
}

// Adds one counter for each part of the job's time ledger. The counter of the current part includes the time
// up to now, so that it also grows between two statuses. A counter may become too high, because the detection
// of a loss moves the time since the loss to another part of the ledger. A counter that was too high then
// stays constant until the true value has reached it.
void JobMetrics::add_ledger(const JobKey& key, WallTime now, std::vector<ClientMetric>& series) {
  for (std::size_t i = 0; i < kLedgerNames.size(); ++i) {
    double total = ledger_.seconds[i];
    if (ledger_.since && i == static_cast<std::size_t>(ledger_.part))
      total += std::max(0.0, seconds(now.since_epoch - ledger_.since->since_epoch));
    reported_ledger_[i] = std::max(reported_ledger_[i], total);
    series.push_back(series_with_labels(key, "part", kLedgerNames[i]));
    series.back().counter.value = reported_ledger_[i];
  }
}

// Adds even series that are still 0, because Prometheus sees an increase only in a series that it knows. In a
// finished job they do not increase, and 152 series for each of thousands of such jobs would be too many.
void JobMetrics::add_recoveries(const JobKey& key, std::vector<ClientMetric>& series) const {
  if (!recoveries_ && api::is_over(phase_)) return;
  static const NeverDestroyed<PhaseHistogram> kNone;
  for (std::size_t i = 0; i < kRecoveryPartNames.size(); ++i) {
    series.push_back(series_with_labels(key, "phase", kRecoveryPartNames[i]));
    series.back().histogram = histogram_of(recoveries_ ? (*recoveries_)[i] : *kNone);
  }
}

}  // namespace ratoon::runtime
