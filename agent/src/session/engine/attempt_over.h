// AttemptOver: the session, or a collective of its own, ends an attempt.
#pragma once

#include <string>

#include <ratoon/failure.h>

#include "base/contract/messages.h"

namespace ratoon {

// The exception that the session itself throws to end this attempt. A program may throw its own Interrupted,
// or one that it kept from an earlier attempt.
class AttemptOver : public Interrupted {
 public:
  AttemptOver(Attempt which, const std::string& why) : Interrupted(why), attempt(which) {}
  Attempt attempt;
};

}  // namespace ratoon
