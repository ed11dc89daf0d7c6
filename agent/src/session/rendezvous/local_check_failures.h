// LocalCheckFailures: counts checks of other ranks that failed because of this machine, for example for lack
// of descriptors. A failed check says nothing about the other ranks, so the check is repeated for a limited
// time.
//
// Thread contract: only one thread at a time may use the object.
#pragma once

#include <optional>
#include <string>

#include <ratoon/result.h>

#include "base/core/clock.h"

namespace ratoon::session {

class LocalCheckFailures {
 public:
  explicit LocalCheckFailures(Duration patience) : failure_timeout_(patience) {}

  // Call note_check_result() after each check, with the check's error, or nullopt if the check worked. Of
  // several consecutive failures, only the first is logged. When all checks have failed for the time
  // `failure_timeout_`, returns the reason to end this rank.
  [[nodiscard]] std::optional<std::string> note_check_result(const std::optional<Error>& unknown,
                                                             const Clock& clock);

 private:
  Duration failure_timeout_;
  std::optional<Timestamp> first_failure_at_{};
};

}  // namespace ratoon::session
