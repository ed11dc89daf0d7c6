// Looks at other ranks that fail on this machine, where no descriptors are left, say. They tell nothing of
// the others, and are made again: for as long as the patience.
//
// Thread contract: one thread.
#pragma once

#include <optional>
#include <string>

#include <ratoon/result.h>

#include "base/core/clock.h"

namespace ratoon::session {

class BlindLooks {
 public:
  explicit BlindLooks(Duration patience) : patience_(patience) {}

  // Of each look, why it told nothing. The first of a row that fails is logged; the reason to end comes once
  // they have failed for as long as the patience.
  [[nodiscard]] std::optional<std::string> note(const std::optional<Error>& unknown, const Clock& clock);

 private:
  Duration patience_;
  std::optional<Timestamp> since_{};
};

}  // namespace ratoon::session
