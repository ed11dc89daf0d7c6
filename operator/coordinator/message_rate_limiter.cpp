#include "operator/coordinator/message_rate_limiter.h"

#include <algorithm>

namespace ratoon::coordinator {

double MessageRateLimiter::left_of(const Usage& spent, Timestamp now) {
  return std::max(0.0, spent.messages - spent.each_second * seconds(now - spent.at));
}

bool MessageRateLimiter::take(const std::string& member_uid, std::size_t processes, Timestamp now) {
  const auto number = static_cast<double>(std::max<std::size_t>(processes, 1));
  Usage& spent = spent_[member_uid];
  spent = {.messages = left_of(spent, now), .each_second = limits_.each_second * number, .at = now};
  if (spent.messages + 1 > limits_.burst * number) return false;
  spent.messages += 1;
  return true;
}

void MessageRateLimiter::forget_quiet(Timestamp now) {
  std::erase_if(spent_, [now](const auto& item) { return left_of(item.second, now) == 0; });
}

}  // namespace ratoon::coordinator
