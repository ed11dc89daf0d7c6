#include "agent/src/session/telemetry/reporting.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ratoon::session {
namespace {

constexpr std::uint64_t kNanosecondsOfSecond = 1'000'000'000;
constexpr std::uint64_t kReportedCountMax = (std::uint64_t{1} << 53U) - 1;  // the maximum of the contract

// Converts a count to the progress bar's unit: a time becomes whole seconds, and other counts stay unchanged.
std::uint64_t count_with_noun(std::uint64_t count, CountedIn unit) {
  return unit == CountedIn::kTime ? count / kNanosecondsOfSecond : count;
}

const char* unit_name_of(CountedIn unit) {
  switch (unit) {
    case CountedIn::kSteps:
      return "step";
    case CountedIn::kBatches:
      return "batch";
    case CountedIn::kEpochs:
    case CountedIn::kSamples:
      return "sample";
    case CountedIn::kTime:
      return "second";
  }
  return "step";
}

// Returns 0 for a run without a known end, because the number for "no end" is too large for JSON.
std::uint64_t reported_total(std::uint64_t total) {
  return total > kReportedCountMax ? 0 : total;
}

}  // namespace

Reporting::Reporting(const ReportingStart& begin, std::shared_ptr<checkpoint::Disk> disk, const Clock& clock)
    : until_(begin.until),
      ledger_(begin.ledger),
      clock_(clock),
      total_length_(reported_total(count_with_noun(begin.until.total(begin.position), begin.until.unit()))),
      progress_bar_({.title = begin.title,
                     .unit = unit_name_of(begin.until.unit()),
                     .total = total_length_,
                     .begin_at = position_in_bar(begin.position)}) {
  if (!disk) return;
  history_ = std::make_shared<HistoryWriter>(std::move(disk), begin.attempt, begin.previous_history_end,
                                             make_ledger_sampler());
  append_ledger();
}

Reporting::~Reporting() {
  if (!history_) return;
  append_ledger();
  history_->end();  // it may live on with the saver, longer than the objects that the ledger reads
}

void Reporting::append_ledger() {
  if (const auto ledger = ledger_ ? ledger_() : std::nullopt) history_->append(row_of(*ledger));
}

HistoryWriter::SampleRow Reporting::make_ledger_sampler() const {
  if (!ledger_) return {};
  return [ledger = ledger_, &clock = clock_, began = clock_.now(),
          last = clock_.now()]() mutable -> std::optional<history::Row> {
    const Timestamp now = clock.now();
    if (now - last < pause_between_rows(now - began)) return std::nullopt;
    last = now;
    const auto at_present = ledger();
    return at_present ? std::optional(row_of(*at_present)) : std::nullopt;
  };
}

std::uint64_t Reporting::position_in_bar(const RunPosition& position) const {
  return count_with_noun(count_of(position, until_.unit()), until_.unit());
}

void Reporting::report(std::string_view name, double value, std::uint64_t samples) {
  auto found = values_.find(name);
  if (found == values_.end()) found = values_.emplace(std::string(name), Sum{}).first;
  if (samples == 0) return;  // a mean of no samples may be NaN, and NaN times 0 stays NaN
  found->second.weighted += value * static_cast<double>(samples);
  found->second.samples += static_cast<double>(samples);
}

void Reporting::replace(std::string_view name, double weighted_sum, double samples) {
  if (const auto found = values_.find(name); found != values_.end())
    found->second = {.weighted = weighted_sum, .samples = samples};
}

void Reporting::end_step(const RunPosition& position) {
  if (!values_.empty()) {
    history::Row row{.kind = "step", .step = position.steps, .at = clock_.wall_now()};
    for (const auto& [name, sum] : values_)
      if (sum.samples > 0) row.values[name] = sum.weighted / sum.samples;
    values_.clear();
    if (const auto loss = row.values.find("loss"); loss != row.values.end()) {
      progress_bar_.show_loss(loss->second);
      loss_ = std::isfinite(loss->second) ? std::optional(loss->second) : std::nullopt;
    }
    if (history_ && !row.values.empty()) history_->append(row);
  }
  progress_bar_.update(position_in_bar(position));
}

ProgressEstimate Reporting::outlook(const RunPosition& position) const {
  return {.position = std::min(position_in_bar(position), kReportedCountMax),
          .total = total_length_,
          .unit = unit_name_of(until_.unit()),
          .loss = loss_};
}

std::optional<history::HistoryPosition> Reporting::history_end_position() {
  if (!history_) return std::nullopt;
  append_ledger();  // the history of a checkpoint ends with its ledger
  return history_->end_position();
}

}  // namespace ratoon::session
