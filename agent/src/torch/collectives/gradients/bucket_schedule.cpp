#include "agent/src/torch/collectives/gradients/bucket_schedule.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace ratoon {

BucketSchedule::BucketSchedule(std::vector<std::size_t> pieces_of_parameters, std::vector<std::size_t> order)
    : piece_of_parameter_(std::move(pieces_of_parameters)),
      piece_order_(std::move(order)),
      is_gradient_ready_(piece_of_parameter_.size()),
      has_begun_(piece_order_.size()),
      missing_gradients_(piece_order_.size()) {
  for (const std::size_t piece : piece_of_parameter_) ++missing_gradients_[piece];
}

std::vector<std::size_t> BucketSchedule::first_order(std::size_t pieces) {
  std::vector<std::size_t> order(pieces);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

std::vector<std::size_t> BucketSchedule::next_order(std::vector<std::size_t> order,
                                                    std::span<const float> completed) {
  const auto position = [&](std::size_t piece) {
    const bool is_last = piece + 1 == completed.size();
    return is_last || completed[piece] == 0 ? std::numeric_limits<float>::infinity() : completed[piece];
  };
  if (std::ranges::all_of(completed, [](float number) { return number == 0; })) return order;
  order = first_order(order.size());
  std::ranges::stable_sort(order, {}, position);
  return order;
}

bool BucketSchedule::mark_ready(std::size_t parameter) {
  const std::size_t piece = piece_of_parameter_[parameter];
  if (has_begun_[piece]) return false;
  if (!is_gradient_ready_[parameter] && --missing_gradients_[piece] == 0) completed_pieces_.push_back(piece);
  is_gradient_ready_[parameter] = true;
  return true;
}

std::size_t BucketSchedule::take_next_piece() {
  has_begun_[piece_order_[next_position_]] = true;
  return piece_order_[next_position_++];
}

void BucketSchedule::write_completion_order(std::span<float> completed) const {
  std::ranges::fill(completed, 0.0F);
  for (std::size_t i = 0; i < completed_pieces_.size(); ++i)
    completed[completed_pieces_[i]] = static_cast<float>(i + 1);
}

}  // namespace ratoon
