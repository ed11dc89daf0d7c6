// Until: the end of a run, counted from its beginning. A run of 90 epochs that resumes after 25 epochs trains
// 65 more.
//
//   for (std::uint64_t step : session.steps(ratoon::Until::epochs(90))) ...
//
//   auto until = ratoon::Until::parse(max_duration);            // "90ep", "10000ba", "12h"
//   if (until && until->is_reached(position)) return;
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <ratoon/amount.h>
#include <ratoon/result.h>

namespace ratoon {

class Until {
 public:
  // With a count of 0, the run ends before its first step.
  [[nodiscard]] static Until steps(std::uint64_t count) { return of(CountedIn::kSteps, count); }
  [[nodiscard]] static Until batches(std::uint64_t count) { return of(CountedIn::kBatches, count); }
  [[nodiscard]] static Until epochs(std::uint64_t count) { return of(CountedIn::kEpochs, count); }
  [[nodiscard]] static Until samples(std::uint64_t count) { return of(CountedIn::kSamples, count); }
  // The run ends after `time` in the training loop, summed over all attempts. With a time of 0 or less,
  // the run ends before its first step.
  [[nodiscard]] static Until duration(std::chrono::nanoseconds time);
  [[nodiscard]] static Result<Until> parse(std::string_view text);

  [[nodiscard]] bool is_reached(const RunPosition& position) const;
  // Returns the value that count_of(position, unit()) will have at the run's end. The progress bar shows this
  // value as the total.
  [[nodiscard]] std::uint64_t total(const RunPosition& position) const;
  [[nodiscard]] CountedIn unit() const { return amount_.unit; }
  [[nodiscard]] std::string text() const { return text_of(amount_); }

  friend bool operator==(const Until&, const Until&) = default;

 private:
  explicit Until(Amount amount) : amount_(amount) {}
  [[nodiscard]] static Until of(CountedIn unit, std::uint64_t count) {
    return Until({.unit = unit, .period = {.count = count}});
  }

  Amount amount_;
};

}  // namespace ratoon
