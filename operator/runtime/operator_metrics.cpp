#include "operator/runtime/operator_metrics.h"

#include <array>
#include <functional>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "base/contract/names.h"
#include "operator/runtime/metric_family.h"

namespace ratoon::runtime {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using Labels = std::map<std::string, std::string>;

const Histogram::BucketBoundaries kRecoveryBuckets = {0.01, 0.05, 0.1, 0.25, 0.5, 1,  2,  3,
                                                      4,    5,    6,   8,    12,  20, 60, 300};
const Histogram::BucketBoundaries kDecisionBuckets = {0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 1};

const api::RecoveryPhases kNone;

constexpr std::array kPhases = {api::JobPhase::kPending,    api::JobPhase::kRunning,
                                api::JobPhase::kRecovering, api::JobPhase::kSuspended,
                                api::JobPhase::kSucceeded,  api::JobPhase::kFailed};

// What tells series of one job and one family apart.
struct Label {
  const char* name = nullptr;
  std::string_view value;
};

Labels labels_of(const JobKey& key, const Label& label) {
  Labels labels{{"namespace", key.name_space}, {"job", key.name}};
  if (label.name != nullptr) labels[label.name] = std::string(label.value);
  return labels;
}

std::array<std::pair<const char*, double>, 8> parts_of(const api::RecoveryPhases& p) {
  return {{{"detect", p.detect_seconds},
           {"decide", p.decide_seconds},
           {"place", p.place_seconds},
           {"start", p.start_seconds},
           {"rendezvous", p.rendezvous_seconds},
           {"load", p.load_seconds},
           {"first_step", p.first_step_seconds},
           {"total", p.total_seconds()}}};
}

}  // namespace

struct OperatorMetrics::Families {
  // The series of one job, to be taken out together.
  struct Job {
    JobKey key;
    std::vector<std::function<void()>> removals;
    std::map<std::pair<const void*, std::string_view>, void*>
        known;  // by family and the label's value, a constant
  };

  // The series with this label, made at first use.
  template <class Series, class... Buckets>
  static Series& series(Job& job, Family<Series>& family, const Label& label, const Buckets&... buckets) {
    void*& known = job.known[{&family, label.value}];
    if (known == nullptr) {
      Series& fresh = family.Add(labels_of(job.key, label), buckets...);
      known = &fresh;
      job.removals.push_back([&family, &fresh] { family.Remove(&fresh); });
    }
    return *static_cast<Series*>(known);
  }

  prometheus::Registry registry;
  Family<Gauge>& phase = build(registry, prometheus::BuildGauge(), names::metric::kJobPhase,
                               "1 for the phase that the job is in");
  Family<Gauge>& attempt = build(registry, prometheus::BuildGauge(), names::metric::kJobAttempt,
                                 "Number of the newest world of the job");
  Family<Gauge>& step =
      build(registry, prometheus::BuildGauge(), names::metric::kJobStep, "Steps that the job has made");
  Family<Gauge>& durable_step = build(registry, prometheus::BuildGauge(), names::metric::kJobDurableStep,
                                      "Steps that are in a committed checkpoint");
  Family<Gauge>& world_size = build(registry, prometheus::BuildGauge(), names::metric::kJobWorldSize,
                                    "Processes that train together; 0 while a world forms");
  Family<Counter>& restarts = build(registry, prometheus::BuildCounter(), names::metric::kRestarts,
                                    "Members that were replaced, by cause");
  Family<Histogram>& recovery =
      build(registry, prometheus::BuildHistogram(), names::metric::kRecoverySeconds,
            "Seconds from a member's last sign of life to the first step of all, by phase");
  Histogram& decision = build(registry, prometheus::BuildHistogram(), names::metric::kReconcileSeconds,
                              "Seconds that a decision took, without its execution")
                            .Add({}, kDecisionBuckets);
  std::mutex mutex;
  std::map<JobKey, Job> jobs;  // guarded by mutex
};

OperatorMetrics::OperatorMetrics() : families_(std::make_unique<Families>()) {}
OperatorMetrics::~OperatorMetrics() = default;

void OperatorMetrics::note_status(const JobKey& key, const api::TrainingJobStatus& before,
                                  const api::TrainingJobStatus& after) {
  Families& f = *families_;
  const std::lock_guard lock(f.mutex);
  auto& job = f.jobs.try_emplace(key, Families::Job{.key = key, .removals = {}, .known = {}}).first->second;
  const auto set = [&](auto& family, double value) { f.series(job, family, {}).Set(value); };
  for (const auto phase : kPhases)
    f.series(job, f.phase, {"phase", api::name_of(phase)}).Set(phase == after.phase ? 1 : 0);
  set(f.attempt, static_cast<double>(after.attempt.value()));
  set(f.step, static_cast<double>(after.step.value()));
  set(f.durable_step, after.last_checkpoint ? static_cast<double>(after.last_checkpoint->step.value()) : 0);
  set(f.world_size, after.world_size);
  const auto count = [&](const char* cause, std::uint32_t from, std::uint32_t to) {
    f.series(job, f.restarts, {"cause", cause}).Increment(to > from ? to - from : 0);
  };
  count("application", before.restarts.application, after.restarts.application);
  count("hung", before.restarts.hung, after.restarts.hung);
  count("disruption", before.restarts.disruption, after.restarts.disruption);
  const bool is_news = after.last_disruption && after.last_disruption != before.last_disruption;
  // All are there from the beginning, at zero: the first recovery would be no increase otherwise.
  for (const auto& [phase, seconds] : parts_of(is_news ? after.last_disruption->phases : kNone)) {
    auto& histogram = f.series(job, f.recovery, {"phase", phase}, kRecoveryBuckets);
    if (is_news) histogram.Observe(seconds);
  }
}

void OperatorMetrics::note_decision_seconds(double seconds) {
  families_->decision.Observe(seconds);
}

void OperatorMetrics::forget(const JobKey& key) {
  Families& f = *families_;
  const std::lock_guard lock(f.mutex);
  const auto job = f.jobs.find(key);
  if (job == f.jobs.end()) return;
  for (const auto& remove : job->second.removals) remove();
  f.jobs.erase(job);
}

std::string OperatorMetrics::text() const {
  return prometheus::TextSerializer().Serialize(families_->registry.Collect());
}

}  // namespace ratoon::runtime
