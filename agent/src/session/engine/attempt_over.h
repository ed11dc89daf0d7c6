// AttemptOver: the session, or one of the session's collectives, ends an attempt.
#pragma once

#include <string>

#include <ratoon/failure.h>

#include "base/contract/messages.h"

namespace ratoon {

// The exception that the session itself throws to end this attempt. A thrown Interrupted of another type may
// be the program's own, or kept from an earlier attempt.
class AttemptOver : public Interrupted {
 public:
  AttemptOver(Attempt which, const std::string& why) : Interrupted(why), attempt(which) {}
  Attempt attempt;
};

}  // namespace ratoon
