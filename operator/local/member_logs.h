// MemberLogs: opens the log of a member that starts, on a thread of its own. Only the members whose logs are
// on a disk that hangs wait for this disk; all other decisions of the run go on.
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
  static constexpr Duration kTimeout = std::chrono::seconds(2);
  // Is called on the other thread, also after this object has been destroyed, and so must own what it uses.
  using Open = std::function<Result<UniqueFd>(const std::string& member)>;

  explicit MemberLogs(Open open, Duration timeout = kTimeout)
      : open_(std::move(open)), timeout_(timeout), disk_(timeout) {}

  // Returns kUnavailable while the disk does not answer: call again later. While an earlier call hangs, no
  // further call waits.
  [[nodiscard]] Result<UniqueFd> open(const std::string& member);

 private:
  const Open open_;
  const Duration timeout_;
  DiskWriter disk_;
  std::map<std::string, std::future<Result<UniqueFd>>> under_way_;  // by member
};

}  // namespace ratoon::local
