// LocalCheckFailures: counts failed checks whether other ranks are alive, if the cause is this machine, such
// as a lack of descriptors. A failed check says nothing about the other ranks, so the check is repeated for a
// limited time.
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

  // Call note() after each check, with the error of the check, or nullopt if it worked. Of several
  // consecutive failures, only the first is logged. When all checks have failed for the time `patience_`,
  // returns the reason to end this rank.
  [[nodiscard]] std::optional<std::string> note(const std::optional<Error>& unknown, const Clock& clock);

 private:
  Duration patience_;
  std::optional<Timestamp> since_{};
};

}  // namespace ratoon::session
