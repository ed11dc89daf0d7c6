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
  explicit LocalCheckFailures(Duration patience) : patience_(patience) {}

  // Call note_check_result() after each check, with the check's error, or nullopt if the check worked. Of
  // several consecutive failures, only the first is logged. When all checks have failed for the time
  // `patience_`, returns the reason to end this rank.
  [[nodiscard]] std::optional<std::string> note_check_result(const std::optional<Error>& unknown,
                                                             const Clock& clock);

 private:
  Duration patience_;
  std::optional<Timestamp> since_{};
};

}  // namespace ratoon::session
