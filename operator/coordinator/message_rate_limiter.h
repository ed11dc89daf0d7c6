// Limits the calls of each member of a job. A member that calls far more often than any agent has its answers
// delayed. Because such a member has few connections, the delay limits its cost to the other members. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

#include "base/core/clock.h"

namespace ratoon::coordinator {

struct MessageRateLimits {
  double burst = 200;       // messages of one process at once
  double each_second = 50;  // messages of one process in a second, after the burst
};

class MessageRateLimiter {
 public:
  explicit MessageRateLimiter(MessageRateLimits limits) : limits_(limits) {}

  // Whether this member, which has `processes` processes, may send this message.
  [[nodiscard]] bool take(const std::string& member_uid, std::size_t processes, Timestamp now);
  // Frees the records of members that have sent no message for long enough.
  void forget_quiet(Timestamp now);

  [[nodiscard]] std::size_t size() const { return spent_.size(); }

 private:
  struct Usage {
    double messages = 0;  // spent, less the part that time has restored
    double each_second = 0;
    Timestamp at;
  };
  static double left_of(const Usage& spent, Timestamp now);

  const MessageRateLimits limits_;
  std::unordered_map<std::string, Usage> spent_;  // by member UID
};

}  // namespace ratoon::coordinator
