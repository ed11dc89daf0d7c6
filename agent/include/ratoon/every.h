// Every: the interval between two executions of an action, such as a save. The interval is counted from the
// run's beginning, and checkpoints contain the run's position. A run that resumes in the middle of an epoch
// validates and saves at the same steps as an uninterrupted run.
//
//   const auto validate_every = ratoon::Every::parse("0.25ep").value();
//   if (validate_every.is_due(before_the_step, after_the_step)) validate();
//
// If the interval is a time, an action is due at different steps on different ranks: let one rank decide.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ratoon/amount.h>
#include <ratoon/result.h>

namespace ratoon {

class Every {
 public:
  // The functions below throw std::invalid_argument for an interval of 0 or less.
  [[nodiscard]] static Every steps(std::uint64_t count) { return of(CountedIn::kSteps, {.count = count}); }
  [[nodiscard]] static Every batches(std::uint64_t count) {
    return of(CountedIn::kBatches, {.count = count});
  }
  // Takes a fraction of an epoch, such as {1, 4} for a quarter of an epoch.
  [[nodiscard]] static Every epochs(Period epochs) { return of(CountedIn::kEpochs, epochs); }
  [[nodiscard]] static Every samples(std::uint64_t count) {
    return of(CountedIn::kSamples, {.count = count});
  }
  [[nodiscard]] static Every duration(std::chrono::nanoseconds time);
  // For saves only: Ratoon computes the interval from the cost of a save and the rate of interruptions.
  [[nodiscard]] static Every automatic() { return Every(std::nullopt); }
  // Reads "auto", or an amount as parse_amount() reads it.
  [[nodiscard]] static Result<Every> parse(std::string_view text);

  [[nodiscard]] bool is_automatic() const { return !amount_; }
  // Returns the unit of the interval; kTime if the interval is automatic.
  [[nodiscard]] CountedIn unit() const { return amount_ ? amount_->unit : CountedIn::kTime; }
  // Returns whether a multiple of the interval, counted from the run's beginning, is after `before` and not
  // after `after`. Throws std::invalid_argument if the interval is automatic ("auto").
  [[nodiscard]] bool is_due(const RunPosition& before, const RunPosition& after) const;
  [[nodiscard]] std::string text() const { return amount_ ? text_of(*amount_) : "auto"; }

  friend bool operator==(const Every&, const Every&) = default;

 private:
  explicit Every(std::optional<Amount> amount) : amount_(amount) {}
  [[nodiscard]] static Every of(CountedIn unit, Period period);

  std::optional<Amount> amount_;
};

}  // namespace ratoon
