// BucketSchedule: decides when the sum of each piece (a flat tensor with the gradients of some parameters)
// begins while backward() runs. All ranks begin the sums of the pieces in the same order, although a rank may
// compute gradients in another order or compute only some of them. The order is the one in which backward()
// completed the pieces on rank 0 in an earlier step. The last piece contains the control word, numbers that
// tell all ranks, for example, which parameters have a gradient. Therefore the sum of the last piece begins
// only after backward() has ended.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace ratoon {

class BucketSchedule {
 public:
  // `pieces_of_parameters` contains, for each parameter, the number of the piece that holds its gradient.
  // `order` contains the numbers of all pieces in the order in which their sums begin. It ends with the piece
  // that has the highest number.
  BucketSchedule(std::vector<std::size_t> pieces_of_parameters, std::vector<std::size_t> order);

  // Returns the order for the first step: by the numbers of the pieces, because backward() computes the
  // gradients of the first piece first.
  [[nodiscard]] static std::vector<std::size_t> first_order(std::size_t pieces);
  // Returns the order of the next step. `completed` contains one number for each piece: its place in the
  // order in which backward() completed the pieces on rank 0, counted from 1. The number of a piece that was
  // not completed is 0. Pieces that were not completed come after the others. If rank 0 completed no piece,
  // the order stays the same.
  [[nodiscard]] static std::vector<std::size_t> next_order(std::vector<std::size_t> order,
                                                           std::span<const float> completed);

  // Records that the gradient of a parameter was computed. Returns false if the gradient was changed after
  // the sum of its piece was begun, which is an error of the program.
  [[nodiscard]] bool mark_ready(std::size_t parameter);
  // Returns true if all gradients of the next piece are computed, so that its sum may begin.
  [[nodiscard]] bool is_next_piece_ready() const {
    return next_position_ + 1 < piece_order_.size() && missing_gradients_[piece_order_[next_position_]] == 0;
  }
  [[nodiscard]] bool has_pieces_left() const { return next_position_ < piece_order_.size(); }
  [[nodiscard]] std::size_t take_next_piece();
  // Writes one number for each piece: its place in the order in which backward() completed the pieces on this
  // rank, counted from 1, or 0. All ranks pass the numbers of rank 0 to next_order().
  void write_completion_order(std::span<float> completed) const;

 private:
  std::vector<std::size_t> piece_of_parameter_;
  std::vector<std::size_t> piece_order_;
  std::vector<bool> is_gradient_ready_;
  std::vector<bool> has_begun_;                 // one per piece
  std::vector<std::size_t> missing_gradients_;  // the number of missing gradients of each piece
  std::vector<std::size_t> completed_pieces_;   // the pieces without missing gradients, in this order
  std::size_t next_position_ = 0;               // the position in piece_order_
};

}  // namespace ratoon
