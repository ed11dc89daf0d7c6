// How often the members of one job may call. One that calls far more often than any agent does has its
// answers held back, so that its connections, which are few, bound what it costs the others. Not thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

#include "base/core/clock.h"

namespace ratoon::coordinator {

struct MessageLimits {
  double burst = 200;       // of one process
  double each_second = 50;  // the same, from then on
};

class MessageBudget {
 public:
  explicit MessageBudget(MessageLimits limits) : limits_(limits) {}

  // Whether this message of that member, which has so many processes, is one of those that it may send.
  [[nodiscard]] bool take(const std::string& member_uid, std::size_t processes, Timestamp now);
  // Of members that have been quiet for long enough nothing is remembered.
  void forget_quiet(Timestamp now);

  [[nodiscard]] std::size_t size() const { return spent_.size(); }

 private:
  struct Spent {
    double messages = 0;  // above what time has made good since
    double each_second = 0;
    Timestamp at;
  };
  static double left_of(const Spent& spent, Timestamp now);

  const MessageLimits limits_;
  std::unordered_map<std::string, Spent> spent_;  // by member UID
};

}  // namespace ratoon::coordinator
