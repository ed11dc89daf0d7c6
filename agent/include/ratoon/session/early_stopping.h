// EarlyStopping: decides when to end a run whose validation loss or other measure no longer improves.
//
//   ratoon::EarlyStopping patience({.patience = 5});
//   session.track("patience", patience);
//   ...
//   const double loss = session.mean("validation loss", mean_here, samples_here);  // the same on all ranks
//   if (patience.is_over(loss)) session.finish("the loss did not fall for 5 validations");
//
// If the EarlyStopping object is tracked, a resumed run ends at the same step as an uninterrupted run. All
// ranks must pass the same values, such as the results of Session::mean().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ratoon/stateful.h>

namespace ratoon {

struct EarlyStoppingOptions {
  std::uint64_t patience = 10;  // how many values in a row may be no improvement
  double min_delta = 0;         // a smaller change is no improvement
  bool is_lower_better = true;
};

class EarlyStopping : public Stateful {
 public:
  // Throws std::invalid_argument if min_delta is negative or not a number.
  explicit EarlyStopping(EarlyStoppingOptions options);

  // Records the next value of the measure, such as a validation loss. Returns true if none of the last
  // `patience` values improved on the best earlier value. NaN counts as no improvement.
  bool is_over(double value);

  [[nodiscard]] bool has_best() const { return has_best_; }
  [[nodiscard]] double best() const { return best_; }
  [[nodiscard]] std::uint64_t values_since_best() const { return values_since_best_; }

  [[nodiscard]] std::string save_state() const override;
  void load_state(std::string_view state) override;

 private:
  const EarlyStoppingOptions options_;
  bool has_best_ = false;
  double best_ = 0;
  std::uint64_t values_since_best_ = 0;
};

}  // namespace ratoon
