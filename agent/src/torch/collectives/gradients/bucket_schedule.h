// BucketSchedule: decides when the sum of each piece (a flat tensor with the gradients of some parameters)
// begins while backward() runs. All ranks begin the sums of the pieces in the same order, although a rank may
// compute gradients in another order or compute only some of them. The last piece contains the control word,
// which says which parameters have a gradient, so its sum begins only after backward() has ended.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace ratoon {

class BucketSchedule {
 public:
  // `pieces_of_parameters` contains, for each parameter, the number of the piece that holds its gradient.
  BucketSchedule(std::vector<std::size_t> pieces_of_parameters, std::size_t pieces)
      : pieces_(std::move(pieces_of_parameters)), has_(pieces_.size()), missing_(pieces) {
    for (const std::size_t piece : pieces_) ++missing_[piece];
  }

  // Records that the gradient of a parameter was computed. Returns false if the gradient was changed after
  // the sum of its piece was begun, which is an error of the program.
  [[nodiscard]] bool note(std::size_t parameter) {
    if (pieces_[parameter] < next_) return false;
    if (!has_[parameter]) --missing_[pieces_[parameter]];
    has_[parameter] = true;
    return true;
  }
  // Returns true if all gradients of the next piece are computed, so that its sum may begin.
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
