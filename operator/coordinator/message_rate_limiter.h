// Limits the rate of calls by each member of a job. The coordinator delays its answers to a member that calls
// far more often than any agent does. Since a member may have only few connections, delayed replies limit the
// load that the member causes. Not thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

#include "base/core/clock.h"

namespace ratoon::coordinator {

struct MessageRateLimits {
  double burst = 200;               // messages of one process at once
  double messages_per_second = 50;  // messages of one process in a second, after the burst
};

class MessageRateLimiter {
 public:
  explicit MessageRateLimiter(MessageRateLimits limits) : limits_(limits) {}

  // Returns whether this member, which has `processes` processes, may send another message now.
  [[nodiscard]] bool take(const std::string& member_uid, std::size_t processes, Timestamp now);
  // Frees the counters of members that have sent no message for a while.
  void forget_idle_members(Timestamp now);

  [[nodiscard]] std::size_t size() const { return usage_by_member_.size(); }

 private:
  struct Usage {
    double messages = 0;  // spent, less the part that time has restored
    double messages_per_second = 0;
    Timestamp at;
  };
  static double remaining_usage(const Usage& spent, Timestamp now);

  const MessageRateLimits limits_;
  std::unordered_map<std::string, Usage> usage_by_member_;  // by member UID
};

}  // namespace ratoon::coordinator
