// EarlyStopping: ends a run whose measure no longer improves.
//
//   ratoon::EarlyStopping patience({.patience = 5});
//   session.track("patience", patience);
//   ...
//   const double loss = session.mean("validation loss", mean_here, samples_here);  // the same on all ranks
//   if (patience.is_over(loss)) session.finish("the loss did not fall for 5 validations");
//
// A resumed run decides in the same way as an uninterrupted run. All ranks must pass the same values, such as
// the results of Session::mean().
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

  // Notes the next value of the measure. Returns whether the last `patience` values were no improvement over
  // the best value before them. A value that is not a number is no improvement.
  bool is_over(double value);

  [[nodiscard]] bool has_best() const { return has_best_; }
  [[nodiscard]] double best() const { return best_; }
  [[nodiscard]] std::uint64_t values_since_best() const { return since_best_; }

  [[nodiscard]] std::string save_state() const override;
  void load_state(std::string_view state) override;

 private:
  const EarlyStoppingOptions options_;
  bool has_best_ = false;
  double best_ = 0;
  std::uint64_t since_best_ = 0;
};

}  // namespace ratoon
