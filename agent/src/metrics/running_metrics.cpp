#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>

#include <ratoon/failure.h>
#include <ratoon/metrics.h>

#include "agent/src/metrics/double_bits.h"
#include "base/contract/exit_code.h"
#include "base/contract/fields.h"
#include "base/contract/state_digest.h"
#include "base/core/utf8.h"

namespace ratoon {
namespace {

using metrics::double_to_hex;
using metrics::read_double_bits;
using nlohmann::json;

constexpr std::uint64_t kCountMax = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t kStateBytesMax = 64U << 20;
constexpr std::size_t kNameBytesMax = 255;
constexpr int kJsonDepthMax = 4;

bool is_valid_metric_name(std::string_view name) {
  return !name.empty() && name.size() <= kNameBytesMax && is_utf8(std::as_bytes(std::span(name)));
}

Metric read_metric(Fields f) {
  Metric metric;
  metric.reports = f.whole("reports", kCountMax);
  metric.samples = f.whole("samples", kCountMax);
  metric.sum = read_double_bits(f, "sum");
  metric.weighted_sum = read_double_bits(f, "weighted_sum");
  metric.min = read_double_bits(f, "min");
  metric.max = read_double_bits(f, "max");
  return metric;
}

Result<std::map<std::string, Metric, std::less<>>> decode(std::string_view state) {
  const auto body = parse_json(state, kStateBytesMax, kJsonDepthMax);
  if (!body) return body.error();
  if (const std::string damage = find_damage(state, *body, {"metrics"}); !damage.empty())
    return Error(ErrorKind::kCorrupted, damage);
  std::optional<Error> complaint;
  Fields f(*body, "metrics", complaint);
  check_state_format(f);
  std::map<std::string, Metric, std::less<>> metrics;
  const json* all = f.find("metrics");
  if (all == nullptr || !all->is_object()) {
    f.complain("metrics", "an object of metrics by name");
  } else {
    for (const auto& [name, value] : all->items()) metrics.emplace(name, read_metric(f.child(value, name)));
  }
  if (complaint) return *complaint;
  return metrics;
}

}  // namespace

void Metrics::report(std::string_view name, double value, std::uint64_t samples) {
  auto found = metrics_.find(name);
  if (found == metrics_.end()) {
    if (!is_valid_metric_name(name))
      throw std::invalid_argument("a metric needs a name of 1 to 255 bytes of UTF-8");
    found = metrics_.emplace(std::string(name), Metric{}).first;
  }
  Metric& metric = found->second;
  ++metric.reports;
  metric.samples += samples;
  metric.sum += value;
  // Skip a mean over 0 samples: it may be NaN, and NaN times 0 is NaN.
  if (samples > 0) metric.weighted_sum += value * static_cast<double>(samples);
  metric.min = std::fmin(metric.min, value);
  metric.max = std::fmax(metric.max, value);
}

const Metric* Metrics::find(std::string_view name) const {
  const auto found = metrics_.find(name);
  return found == metrics_.end() ? nullptr : &found->second;
}

void Metrics::merge(const Metrics& other) {
  for (const auto& [name, more] : other.metrics_) {
    Metric& metric = metrics_[name];
    metric.reports += more.reports;
    metric.samples += more.samples;
    metric.sum += more.sum;
    metric.weighted_sum += more.weighted_sum;
    metric.min = std::fmin(metric.min, more.min);
    metric.max = std::fmax(metric.max, more.max);
  }
}

std::string Metrics::save_state() const {
  json all = json::object();
  for (const auto& [name, metric] : metrics_) {
    all[name] = {{"reports", metric.reports},        {"samples", metric.samples},
                 {"sum", double_to_hex(metric.sum)}, {"weighted_sum", double_to_hex(metric.weighted_sum)},
                 {"min", double_to_hex(metric.min)}, {"max", double_to_hex(metric.max)}};
  }
  return encode_state_with_digest({{"metrics", std::move(all)}});
}

void Metrics::load_states(const std::vector<std::string>& states) {
  Metrics all;
  for (const std::string& state : states) {
    Metrics of_rank;
    of_rank.load_state(state);
    all.merge(of_rank);
  }
  *this = std::move(all);
}

void Metrics::load_state(std::string_view state) {
  auto metrics = decode(state);
  if (!metrics) {
    throw Failure(static_cast<int>(ExitCode::kConfiguration),
                  "the state is not of metrics: " + metrics.error().message());
  }
  metrics_ = std::move(*metrics);
}

}  // namespace ratoon
