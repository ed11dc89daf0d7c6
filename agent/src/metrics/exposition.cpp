#include "agent/src/metrics/exposition.h"

#include <limits>
#include <sstream>
#include <vector>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <ratoon/version.h>

#include "agent/src/devices/health/watched_devices.h"
#include "base/contract/messages.h"
#include "base/contract/names.h"

namespace ratoon::metrics {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

namespace device_metric {
constexpr std::string_view kDeviceLabel = "device";  // the label; the UUID, as other exporters show it
constexpr std::string_view kTemperatureCelsius = "ratoon_device_temperature_celsius";
constexpr std::string_view kPowerWatts = "ratoon_device_power_watts";
constexpr std::string_view kClockHertz = "ratoon_device_clock_hertz";
constexpr std::string_view kUtilizationRatio = "ratoon_device_utilization_ratio";
constexpr std::string_view kMemoryBytes = "ratoon_device_memory_bytes";
constexpr std::string_view kMemoryUsedBytes = "ratoon_device_memory_used_bytes";
constexpr std::string_view kCorrectedErrors = "ratoon_device_corrected_errors_total";
constexpr std::string_view kUncorrectableErrors = "ratoon_device_uncorrectable_errors_total";
constexpr std::string_view kRowRemapPending = "ratoon_device_remap_pending";
constexpr std::string_view kClockSlowed = "ratoon_device_slowed";
constexpr std::string_view kErrorEvents = "ratoon_device_error_events_total";
}  // namespace device_metric

// Builds the metric families for each scrape anew. A registry that keeps them would need a lock in every
// training step.
class ExpositionPage {
 public:
  explicit ExpositionPage(const MemberOptions& member) {
    namespace label = names::metric_label;
    for (const auto& [name, value] : {std::pair(label::kTrainingNamespace, member.job_namespace),
                                      {label::kTrainingJob, member.job_name},
                                      {label::kTrainingRole, member.role},
                                      {label::kIndex, std::to_string(member.index)},
                                      {label::kLocalRank, std::to_string(member.local_rank)}})
      one_.label.push_back({.name = std::string(name), .value = value});
  }

  void gauge(std::string_view name, const char* help, double value) {
    one_.gauge.value = value;
    add(name, help, MetricType::Gauge);
  }
  void counter(std::string_view name, const char* help, double value) {
    one_.counter.value = value;
    add(name, help, MetricType::Counter);
  }
  // Adds the metrics about the build, which are equal in all processes of the program.
  void build_info() {
    ClientMetric one{.label = one_.label};
    one.label.push_back({.name = std::string(names::metric_label::kVersion), .value = version()});
    one.label.push_back(
        {.name = std::string(names::metric_label::kContract), .value = std::to_string(kContractVersion)});
    one.gauge.value = 1;
    families_.push_back({.name = std::string(names::metric::kBuildInfo),
                         .help = "The value 1, labelled with the versions of Ratoon and of its messages.",
                         .type = MetricType::Gauge,
                         .metric = {std::move(one)}});
  }
  // Adds a time series for each value of a label. If there are no values, adds no metric family.
  void by_label(std::string_view name, const char* help, MetricType type, std::string_view label,
                const std::vector<std::pair<std::string_view, double>>& values) {
    MetricFamily family{.name = std::string(name), .help = help, .type = type, .metric = {}};
    for (const auto& [of, value] : values) {
      ClientMetric one{.label = one_.label};
      one.label.push_back({.name = std::string(label), .value = std::string(of)});
      (type == MetricType::Gauge ? one.gauge.value : one.counter.value) = value;
      family.metric.push_back(std::move(one));
    }
    if (!family.metric.empty()) families_.push_back(std::move(family));
  }
  // Adds a time series for each store. If there are no stores, adds no metric family.
  template <class Value>
  void by_store(std::string_view name, const char* help, MetricType type, const Meters& meters, Value value) {
    MetricFamily family{.name = std::string(name), .help = help, .type = type, .metric = {}};
    for (const StoreMeters& store : meters.stores) {
      ClientMetric one{.label = one_.label};
      one.label.push_back({.name = std::string(names::metric_label::kStore), .value = store.uri});
      const auto number = static_cast<double>(value(store));
      if (type == MetricType::Gauge)
        one.gauge.value = number;
      else
        one.counter.value = number;
      family.metric.push_back(std::move(one));
    }
    if (!family.metric.empty()) families_.push_back(std::move(family));
  }
  void histogram(std::string_view name, const char* help, const StepTimes& times) {
    auto& histogram = one_.histogram;
    for (std::size_t i = 0; i <= StepTimes::kBucketBoundSeconds.size(); ++i) {
      histogram.sample_count += times.count(i);
      const bool is_last = i == StepTimes::kBucketBoundSeconds.size();
      histogram.bucket.push_back({.cumulative_count = histogram.sample_count,
                                  .upper_bound = is_last ? std::numeric_limits<double>::infinity()
                                                         : StepTimes::kBucketBoundSeconds[i]});
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

// Adds a time series for each watched device.
void add_devices(const std::vector<devices::WatchedDevice>& all, ExpositionPage& page) {
  using devices::DeviceReading;
  const auto add = [&](std::string_view name, const char* help, MetricType type, const auto& value_of) {
    std::vector<std::pair<std::string, double>> values;
    for (const auto& device : all) {
      if (!device.record.newest_reading()) continue;
      const auto value = value_of(*device.record.newest_reading());
      if (value) values.emplace_back(device.uuid, static_cast<double>(*value));
    }
    page.by_label(name, help, type, device_metric::kDeviceLabel, {values.begin(), values.end()});
  };
  using enum MetricType;
  add(device_metric::kTemperatureCelsius, "Temperature of the device in degrees Celsius.", Gauge,
      [](const DeviceReading& now) { return now.temperature_celsius; });
  add(device_metric::kPowerWatts, "Power that the device uses, in watts.", Gauge,
      [](const DeviceReading& now) { return now.power_watts; });
  add(device_metric::kClockHertz, "Clock frequency of the device's processors, in hertz.", Gauge,
      [](const DeviceReading& now) { return now.clock_hertz; });
  add(device_metric::kUtilizationRatio,
      "Part of the last second in which a kernel ran on the device, from 0 to 1.", Gauge,
      [](const DeviceReading& now) { return now.utilization; });
  add(device_metric::kMemoryBytes, "Total memory of the device, in bytes.", Gauge,
      [](const DeviceReading& now) { return now.memory_bytes; });
  add(device_metric::kMemoryUsedBytes, "Memory of the device that processes use, in bytes.", Gauge,
      [](const DeviceReading& now) { return now.memory_used_bytes; });
  add(device_metric::kCorrectedErrors, "Corrected errors of the device's memory since its driver was loaded.",
      Counter, [](const DeviceReading& now) { return now.corrected_errors; });
  add(device_metric::kUncorrectableErrors,
      "Uncorrectable errors of the device's memory since its driver was loaded.", Counter,
      [](const DeviceReading& now) { return now.uncorrectable_errors; });
  add(device_metric::kRowRemapPending,
      "Whether a bad row of the device's memory waits for a reset of the device.", Gauge,
      [](const DeviceReading& now) { return now.is_row_remap_pending; });
  add(device_metric::kClockSlowed,
      "Whether the device lowers its clocks because of its temperature or its power.", Gauge,
      [](const DeviceReading& now) -> std::optional<bool> {
        if (!now.slowdown) return std::nullopt;
        return *now.slowdown != devices::ClockSlowdown();
      });
  std::vector<std::pair<std::string, double>> events;
  for (const auto& device : all) {
    double count = 0;
    for (const auto& [xid, times] : device.record.xids()) count += static_cast<double>(times);
    events.emplace_back(device.uuid, count);
  }
  page.by_label(device_metric::kErrorEvents, "Error events (Xid) that the driver reported about the device.",
                Counter, device_metric::kDeviceLabel, {events.begin(), events.end()});
}

double seconds_of_nanoseconds(const std::atomic<Duration::rep>& count) {
  return seconds(Duration(count.load(std::memory_order_relaxed)));
}

void add_progress(const Meters& meters, ExpositionPage& page) {
  namespace metric = names::metric;
  page.gauge(metric::kProgress, "Completed part of the run, from 0 to 1.", meters.progress);
  page.gauge(metric::kSamples, "Number of samples whose training is in the weights.",
             static_cast<double>(meters.samples));
  if (meters.epoch_samples != 0) {
    const std::uint64_t epochs = meters.samples / meters.epoch_samples;
    page.gauge(metric::kEpoch, "Epochs of the sample stream that are completely in the weights.",
               static_cast<double>(epochs));
  }
  page.counter(metric::kReplayedSamples,
               "Samples that this process trained again after the run resumed from an earlier step.",
               static_cast<double>(meters.replayed_samples));
  const auto all = meters.values.all();
  std::vector<std::pair<std::string_view, double>> values(all.begin(), all.end());
  page.by_label(
      metric::kValue,
      "Newest value that the training program reported under this name, averaged over the ranks once a step.",
      MetricType::Gauge, names::metric_label::kName, values);
}

void add_spent_time(const Meters& meters, ExpositionPage& page) {
  namespace metric = names::metric;
  namespace label = names::metric_label;
  if (meters.time_ledger) {
    page.by_label(metric::kLedgerSeconds, "Seconds that this process has spent for each purpose.",
                  MetricType::Counter, label::kPart, meters.time_ledger());
  }
  if (meters.run_time_ledger) {
    page.by_label(metric::kRunLedgerSeconds,
                  "Seconds of the whole run for each purpose, including the time between processes.",
                  MetricType::Gauge, label::kPart, meters.run_time_ledger());
  }
  page.by_label(metric::kRejoins, "Attempts that this process left to join a later attempt, by cause.",
                MetricType::Counter, label::kCause,
                {{"world_changed", static_cast<double>(meters.rejoins.world_changed)},
                 {"handed_over", static_cast<double>(meters.rejoins.handed_over)},
                 {"checkpoint_unreadable", static_cast<double>(meters.rejoins.checkpoint_unreadable)}});
  if (meters.lost_members.are_counted) {
    page.by_label(metric::kRunLosses, "Members that the run had lost when this attempt began, by cause.",
                  MetricType::Counter, label::kCause,
                  {{"disruption", static_cast<double>(meters.lost_members.disruption)},
                   {"application", static_cast<double>(meters.lost_members.application)},
                   {"hung", static_cast<double>(meters.lost_members.hung)}});
  }
  page.by_label(metric::kLastRecovery,
                "Duration of each phase of the last recovery of this process, in seconds.", MetricType::Gauge,
                label::kPhase,
                {{"join", seconds_of_nanoseconds(meters.last_recovery.join)},
                 {"load", seconds_of_nanoseconds(meters.last_recovery.load)},
                 {"first_step", seconds_of_nanoseconds(meters.last_recovery.first_step)}});
}

void add_checkpoint_ages(const Meters& meters, Timestamp now, ExpositionPage& page) {
  namespace metric = names::metric;
  if (const auto age = meters.durable_since.age(now)) {
    page.gauge(metric::kDurableAge,
               "Seconds since this process last learned that a checkpoint was committed.", seconds(*age));
  }
  std::vector<std::pair<std::string_view, double>> ages;
  for (const StoreMeters& store : meters.stores)
    if (const auto age = store.durable_since.age(now)) ages.emplace_back(store.uri, seconds(*age));
  page.by_label(metric::kStoreDurableAge,
                "Seconds since this process last learned that a checkpoint was committed in a store.",
                MetricType::Gauge, names::metric_label::kStore, ages);
}

}  // namespace

std::string format_metrics(const Meters& meters, const MemberOptions& member, Timestamp now) {
  namespace metric = names::metric;
  ExpositionPage page(member);
  page.build_info();
  page.gauge(metric::kAttempt, "Number of the attempt in which this process trains.",
             static_cast<double>(meters.attempt));
  page.gauge(metric::kWorldSize, "Number of processes that train together in this attempt.",
             static_cast<double>(meters.world_size));
  page.gauge(metric::kStep, "Number of optimizer steps whose results are in the weights.",
             static_cast<double>(meters.step));
  page.gauge(metric::kDurableStep, "Step of the newest checkpoint known to be committed.",
             static_cast<double>(meters.durable_step));
  add_progress(meters, page);
  add_spent_time(meters, page);
  add_checkpoint_ages(meters, now, page);
  add_devices(devices::watched_devices(), page);
  page.by_store(metric::kStoreDurableStep, "Step of the newest checkpoint known to be committed in a store.",
                MetricType::Gauge, meters, [](const StoreMeters& s) { return s.durable_step.load(); });
  page.by_store(metric::kMissedCopies, "Failed copies of a checkpoint to a store, in this process.",
                MetricType::Counter, meters, [](const StoreMeters& s) { return s.missed_copies.load(); });
  page.counter(metric::kReplayedSteps,
               "Steps that this process made again after the run resumed from an earlier step.",
               static_cast<double>(meters.replayed_steps));
  page.counter(metric::kMissedSaves, "Saves that failed, in this process.",
               static_cast<double>(meters.missed_saves));
  page.counter(metric::kStaleSaves,
               "Saves whose bytes equal those of the save before, although steps were made in between.",
               static_cast<double>(meters.unchanged_saves));
  page.counter(metric::kSaveStallSeconds, "Seconds for which training waited for a save.",
               seconds(meters.save_stall.total()));
  page.histogram(metric::kStepSeconds, "Duration of a step in seconds, without the time of saves.",
                 meters.step_times);
  return page.text();
}

}  // namespace ratoon::metrics
