// Stores the newest value of each number that the training program reports. A process stores the values of at
// most kNamesMax names, so that a program that generates names does not overload the monitoring system.
//
// Thread contract: any thread may call any function. A function locks only to set or copy values.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/core/threads/mutex.h"

namespace ratoon::metrics {

class ReportedValues {
 public:
  static constexpr std::size_t kNamesMax = 32;  // later names are ignored

  void set(std::string_view name, double value) {
    const MutexLock lock(mutex_);
    if (const auto found = values_.find(name); found != values_.end()) {
      found->second = value;
    } else if (values_.size() < kNamesMax) {
      values_.emplace(std::string(name), value);
    }
  }
  [[nodiscard]] std::map<std::string, double, std::less<>> all() const {
    const MutexLock lock(mutex_);
    return values_;
  }

 private:
  mutable Mutex mutex_;
  std::map<std::string, double, std::less<>> values_ RATOON_GUARDED_BY(mutex_);
};

}  // namespace ratoon::metrics
