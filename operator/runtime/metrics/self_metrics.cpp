#include "operator/runtime/metrics/self_metrics.h"

#include <fstream>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/contract/messages.h"
#include "base/contract/names.h"
#include "base/core/threads/mutex.h"
#include "operator/runtime/metrics/metric_family.h"

namespace ratoon::runtime {
namespace {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;

const Histogram::BucketBoundaries kCallBuckets = {0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30};

double to_seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// Raises a Prometheus counter to a total that is counted elsewhere.
void raise_counter_to(Counter& counter, double value) {
  counter.Increment(value - counter.Value());
}

}  // namespace

struct SelfMetrics::Families {
  // One reader at a time updates values that are kept elsewhere. The members without an annotation need no
  // lock here, because the classes of prometheus-cpp lock their own data.
  Mutex reading;
  prometheus::Registry registry;
  prometheus::Family<Counter>& calls = build(registry, prometheus::BuildCounter(), names::metric::kApiCalls,
                                             "Calls to the API server that have ended; code 0: no answer");
  prometheus::Family<Histogram>& call_seconds =
      build(registry, prometheus::BuildHistogram(), names::metric::kApiSeconds,
            "Seconds until the API server answered; watches are not included");
  prometheus::Family<Gauge>& behind RATOON_GUARDED_BY(reading) =
      build(registry, prometheus::BuildGauge(), names::metric::kCacheStaleness,
            "Seconds by which the cached objects may be behind the API server");
  Gauge& waiting RATOON_GUARDED_BY(reading) = build(registry, prometheus::BuildGauge(),
                                                    names::metric::kReconcileQueueJobs,
                                                    "Jobs that wait for a decision")
                                                  .Add({});
  Gauge& wait RATOON_GUARDED_BY(reading) = build(registry, prometheus::BuildGauge(),
                                                 names::metric::kReconcileQueueWait,
                                                 "Seconds that the first job in the queue has waited")
                                               .Add({});
  Counter& messages RATOON_GUARDED_BY(reading) = build(registry, prometheus::BuildCounter(),
                                                       names::metric::kMessages, "Valid messages of members")
                                                     .Add({});
  Gauge& parked RATOON_GUARDED_BY(reading) = build(registry, prometheus::BuildGauge(),
                                                   names::metric::kLongPolls,
                                                   "Long polls of members that wait for an answer")
                                                 .Add({});
  Gauge& leading RATOON_GUARDED_BY(reading) =
      build(registry, prometheus::BuildGauge(), names::metric::kLeading,
            "1 for the operator that runs the jobs, 0 for an operator that stands by")
          .Add({});
  prometheus::Family<Gauge>& certificate_end RATOON_GUARDED_BY(reading) =
      build(registry, prometheus::BuildGauge(), names::metric::kCoordinatorCertificateExpiry,
            "Seconds since 1970 at which the certificate for members expires");
  Gauge& build_info =
      build(registry, prometheus::BuildGauge(), names::metric::kBuildInfo,
            "1; the version of Ratoon in this operator, and of the messages between it and its members")
          .Add({{std::string(names::metric_label::kVersion), RATOON_VERSION},
                {std::string(names::metric_label::kContract), std::to_string(kContractVersion)}});
  Gauge& memory RATOON_GUARDED_BY(reading) =
      build(registry, prometheus::BuildGauge(), names::metric::kProcessMemory, "Resident memory").Add({});
  Counter& cpu RATOON_GUARDED_BY(reading) = build(registry, prometheus::BuildCounter(),
                                                  names::metric::kProcessCpu,
                                                  "Processor time, in user mode and in the kernel")
                                                .Add({});
};

SelfMetrics::SelfMetrics() : families_(std::make_unique<Families>()) {
  families_->build_info.Set(1);
}
SelfMetrics::~SelfMetrics() = default;

void SelfMetrics::note_call(const ApiCall& call) {
  const std::string verb(call.verb);
  const std::string resource(call.resource);
  families_->calls.Add({{"verb", verb}, {"resource", resource}, {"code", std::to_string(call.status)}})
      .Increment();
  if (verb == "watch") return;  // a watch lasts as long as it is allowed to
  families_->call_seconds.Add({{"verb", verb}}, kCallBuckets).Observe(call.seconds);
}

std::string SelfMetrics::text(const OperatorVitals& vitals) const {
  Families& f = *families_;
  const MutexLock lock(f.reading);
  for (const auto& [resource, seconds] : vitals.seconds_behind)
    f.behind.Add({{"resource", std::string(resource)}}).Set(seconds);
  f.waiting.Set(static_cast<double>(vitals.backlog.jobs));
  f.wait.Set(vitals.backlog.longest_wait_seconds);
  raise_counter_to(f.messages, static_cast<double>(vitals.load.messages));
  f.parked.Set(static_cast<double>(vitals.load.parked));
  f.leading.Set(vitals.is_leading ? 1 : 0);
  if (vitals.certificate_expires_at)
    f.certificate_end.Add({}).Set(seconds(vitals.certificate_expires_at->since_epoch));
  f.memory.Set(vitals.memory_bytes);
  raise_counter_to(f.cpu, vitals.cpu_seconds);
  return prometheus::TextSerializer().Serialize(f.registry.Collect());
}

void measure_process(OperatorVitals& vitals) {
  std::ifstream statm("/proc/self/statm");
  double all_pages = 0;
  double resident_pages = 0;
  if (statm >> all_pages >> resident_pages)
    vitals.memory_bytes = resident_pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0)
    vitals.cpu_seconds = to_seconds(usage.ru_utime) + to_seconds(usage.ru_stime);
}

}  // namespace ratoon::runtime
