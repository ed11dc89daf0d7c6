#include "operator/local/folder/progress_rate.h"

#include <chrono>

namespace ratoon::local {
namespace {

constexpr Duration kWindow = std::chrono::seconds(30);

}  // namespace

void ProgressRate::add_point(const Point& point) {
  if (!points_.empty() && (point.steps < points_.back().steps || point.position < points_.back().position))
    restart();
  if (points_.empty() || point.steps > points_.back().steps) points_.push_back(point);
  while (points_.size() > 2 && points_.front().at < point.at - kWindow) points_.pop_front();
}

std::optional<double> ProgressRate::steps_per_second() const {
  if (points_.size() < 2) return std::nullopt;
  const Point& first = points_.front();
  const Point& last = points_.back();
  const double passed = seconds(last.at - first.at);
  if (passed <= 0) return std::nullopt;
  return static_cast<double>(last.steps - first.steps) / passed;
}

std::optional<double> ProgressRate::seconds_to(std::uint64_t position) const {
  if (points_.size() < 2) return std::nullopt;
  const Point& first = points_.front();
  const Point& last = points_.back();
  if (last.position >= position) return 0.0;
  if (last.position == first.position) return std::nullopt;
  const double pace = seconds(last.at - first.at) / static_cast<double>(last.position - first.position);
  return pace * static_cast<double>(position - last.position);
}

}  // namespace ratoon::local
