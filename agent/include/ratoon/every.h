// Every: how often something is done, on positions that are in the checkpoint: a run that resumes in the
// middle of an epoch validates and saves at the same steps as one that was never interrupted.
//
//   const auto validate_every = ratoon::Every::parse("0.25ep").value();
//   if (validate_every.is_due(before_the_step, after_the_step)) validate();
//
// Ranks pass time at different moments: of what all do together by time, one of them decides for all.
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
  // Each throws std::invalid_argument for nothing, or less.
  [[nodiscard]] static Every steps(std::uint64_t count) { return of(CountedIn::kSteps, {.count = count}); }
  [[nodiscard]] static Every batches(std::uint64_t count) {
    return of(CountedIn::kBatches, {.count = count});
  }
  // {1, 4} is a quarter of an epoch.
  [[nodiscard]] static Every epochs(Period epochs) { return of(CountedIn::kEpochs, epochs); }
  [[nodiscard]] static Every samples(std::uint64_t count) {
    return of(CountedIn::kSamples, {.count = count});
  }
  [[nodiscard]] static Every duration(std::chrono::nanoseconds time);
  // For saves: as often as pays, by what a save costs and how often something is lost.
  [[nodiscard]] static Every automatic() { return Every(std::nullopt); }
  // What parse_amount() reads, and "auto".
  [[nodiscard]] static Result<Every> parse(std::string_view text);

  [[nodiscard]] bool is_automatic() const { return !amount_; }
  // Time, where it is automatic.
  [[nodiscard]] CountedIn unit() const { return amount_ ? amount_->unit : CountedIn::kTime; }
  // Whether a multiple of it, counted from the run's beginning, was passed on the way. Throws
  // std::invalid_argument if it is automatic.
  [[nodiscard]] bool is_due(const RunPosition& before, const RunPosition& after) const;
  [[nodiscard]] std::string text() const { return amount_ ? text_of(*amount_) : "auto"; }

  friend bool operator==(const Every&, const Every&) = default;

 private:
  explicit Every(std::optional<Amount> amount) : amount_(amount) {}
  [[nodiscard]] static Every of(CountedIn unit, Period period);

  std::optional<Amount> amount_;
};

}  // namespace ratoon
