#include "agent/src/metrics/exposition.h"

#include <limits>
#include <sstream>
#include <vector>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "base/contract/names.h"

namespace ratoon::metrics {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

// Families are made anew for each scrape: a registry would want a lock with every step.
class Page {
 public:
  explicit Page(const MemberOptions& member) {
    namespace label = names::metric_label;
    for (const auto& [name, value] : {std::pair(label::kNamespace, member.job_namespace),
                                      {label::kJob, member.job_name},
                                      {label::kRole, member.role},
                                      {label::kIndex, std::to_string(member.index)},
                                      {label::kLocalRank, std::to_string(member.local_rank)}})
      one_.label.push_back({.name = std::string(name), .value = value});
  }

  void gauge(std::string_view name, const char* help, std::uint64_t value) {
    one_.gauge.value = static_cast<double>(value);
    add(name, help, MetricType::Gauge);
  }
  void counter(std::string_view name, const char* help, double value) {
    one_.counter.value = value;
    add(name, help, MetricType::Counter);
  }
  void histogram(std::string_view name, const char* help, const StepTimes& times) {
    auto& histogram = one_.histogram;
    for (std::size_t i = 0; i <= StepTimes::kBounds.size(); ++i) {
      histogram.sample_count += times.count(i);
      const bool is_last = i == StepTimes::kBounds.size();
      histogram.bucket.push_back(
          {.cumulative_count = histogram.sample_count,
           .upper_bound = is_last ? std::numeric_limits<double>::infinity() : StepTimes::kBounds[i]});
    }
    histogram.sample_sum = seconds(times.sum());
    add(name, help, MetricType::Histogram);
  }
  [[nodiscard]] std::string text() const {
    std::ostringstream out;
    prometheus::TextSerializer().Serialize(out, families_);
    return out.str();
  }

 private:
  void add(std::string_view name, const char* help, MetricType type) {
    families_.push_back({.name = std::string(name), .help = help, .type = type, .metric = {one_}});
  }

  ClientMetric one_;
  std::vector<MetricFamily> families_;
};

}  // namespace

std::string expose(const Meters& meters, const MemberOptions& member) {
  namespace metric = names::metric;
  Page page(member);
  page.gauge(metric::kAttempt, "Attempt that this process is in.", meters.attempt);
  page.gauge(metric::kWorldSize, "Processes that train together in it.", meters.world_size);
  page.gauge(metric::kStep, "Optimizer steps that are in the weights.", meters.step);
  page.gauge(metric::kDurableStep, "Step of the newest checkpoint known to be committed.",
             meters.durable_step);
  page.counter(metric::kReplayedSteps, "Steps that were lost and had to be made again, by this process.",
               static_cast<double>(meters.replayed_steps));
  page.counter(metric::kSaveStallSeconds, "Time that training stood still for saving.",
               seconds(meters.save_stall.total()));
  page.histogram(metric::kStepSeconds, "Time of a step, without saving.", meters.step_times);
  return page.text();
}

}  // namespace ratoon::metrics
