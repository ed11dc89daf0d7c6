#include "operator/coordinator/message_rate_limiter.h"

#include <algorithm>

namespace ratoon::coordinator {

double MessageRateLimiter::remaining_usage(const Usage& spent, Timestamp now) {
  return std::max(0.0, spent.messages - spent.messages_per_second * seconds(now - spent.at));
}

bool MessageRateLimiter::take(const std::string& member_uid, std::size_t processes, Timestamp now) {
  const auto number = static_cast<double>(std::max<std::size_t>(processes, 1));
  Usage& spent = usage_by_member_[member_uid];
  spent = {.messages = remaining_usage(spent, now),
           .messages_per_second = limits_.messages_per_second * number,
           .at = now};
  if (spent.messages + 1 > limits_.burst * number) return false;
  spent.messages += 1;
  return true;
}

void MessageRateLimiter::forget_idle_members(Timestamp now) {
  std::erase_if(usage_by_member_, [now](const auto& item) { return remaining_usage(item.second, now) == 0; });
}

}  // namespace ratoon::coordinator
