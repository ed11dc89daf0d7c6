// LocalCheckFailures counts checks of other ranks that failed because of this machine, for example because no
// descriptors are left. A failed check says nothing about the other ranks, so it is repeated until the
// patience is over.
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

  // Call note() after each check, with the reason why the check failed, or nullopt if it worked. Only the
  // first of several consecutive failures is logged. Returns the reason to end this rank once checks have
  // failed for as long as `patience_`.
  [[nodiscard]] std::optional<std::string> note(const std::optional<Error>& unknown, const Clock& clock);

 private:
  Duration patience_;
  std::optional<Timestamp> since_{};
};

}  // namespace ratoon::session
