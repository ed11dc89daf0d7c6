// LocalCheckFailures: checks of other ranks that fail on this machine, for example because no descriptors are
// left. Such failures say nothing about the other ranks, and the checks are repeated for as long as the
// patience.
//
// Thread contract: one thread at a time.
#pragma once

#include <optional>
#include <string>

#include <ratoon/result.h>

#include "base/core/clock.h"

namespace ratoon::session {

class LocalCheckFailures {
 public:
  explicit LocalCheckFailures(Duration patience) : patience_(patience) {}

  // The function is called for each check with the reason why it failed; nullopt: the check worked. Only the
  // first of several consecutive failures is logged. Returns the reason to end once checks have failed for as
  // long as the patience.
  [[nodiscard]] std::optional<std::string> note(const std::optional<Error>& unknown, const Clock& clock);

 private:
  Duration patience_;
  std::optional<Timestamp> since_{};
};

}  // namespace ratoon::session
