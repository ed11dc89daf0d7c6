// MemberLogs: opens the log of a member that starts, on a separate thread. If a disk hangs, only the members
// whose logs are on this disk wait for it; all other decisions of the run go on.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <string>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/unique_fd.h"
#include "operator/local/disk_writer.h"

namespace ratoon::local {

class MemberLogs {
 public:
  // The start of a member waits this long for the disk.
  static constexpr Duration kOpenTimeout = std::chrono::seconds(2);
  // Another thread calls Open, perhaps after the destruction of MemberLogs, so Open must own all objects that
  // it uses.
  using Open = std::function<Result<UniqueFd>(const std::string& member)>;

  explicit MemberLogs(Open open, Duration timeout = kOpenTimeout)
      : open_(std::move(open)), timeout_(timeout), disk_(timeout) {}

  // Returns kUnavailable while the disk does not answer: call again later. While a call hangs, later calls do
  // not wait.
  [[nodiscard]] Result<UniqueFd> open(const std::string& member);

 private:
  const Open open_;
  const Duration timeout_;
  DiskWriter disk_;
  std::map<std::string, std::future<Result<UniqueFd>>> pending_opens_;  // by member
};

}  // namespace ratoon::local
