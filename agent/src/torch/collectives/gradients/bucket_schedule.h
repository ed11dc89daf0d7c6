// BucketSchedule decides which pieces of the gradients may be summed while backward() runs. All ranks begin
// pieces in the same order, although gradients may arrive in another order or not at all. The last piece has
// the control word, which lists the existing gradients, so its sum begins only after backward().
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace ratoon {

class BucketSchedule {
 public:
  // `pieces_of_parameters` has, for each parameter, the number of the piece with its gradient.
  BucketSchedule(std::vector<std::size_t> pieces_of_parameters, std::size_t pieces)
      : pieces_(std::move(pieces_of_parameters)), has_(pieces_.size()), missing_(pieces) {
    for (const std::size_t piece : pieces_) ++missing_[piece];
  }

  // Reports that a parameter's gradient is computed. Returns false if the gradient changed after the sum of
  // its piece was begun.
  [[nodiscard]] bool note(std::size_t parameter) {
    if (pieces_[parameter] < next_) return false;
    if (!has_[parameter]) --missing_[pieces_[parameter]];
    has_[parameter] = true;
    return true;
  }
  // Returns whether all gradients of the next piece are there.
  [[nodiscard]] bool has_full() const { return next_ + 1 < missing_.size() && missing_[next_] == 0; }
  [[nodiscard]] bool has_any() const { return next_ < missing_.size(); }
  [[nodiscard]] std::size_t take() { return next_++; }

 private:
  std::vector<std::size_t> pieces_;
  std::vector<bool> has_;
  std::vector<std::size_t> missing_;  // the number of missing gradients of each piece
  std::size_t next_ = 0;
};

}  // namespace ratoon
