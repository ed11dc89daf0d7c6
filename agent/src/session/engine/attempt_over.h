// AttemptOver: the exception by which the session, or one of its collectives, ends an attempt.
#pragma once

#include <string>

#include <ratoon/failure.h>

#include "base/contract/messages.h"

namespace ratoon {

// Ratoon throws an AttemptOver to end the current attempt. The program itself may throw an Interrupted, or an
// AttemptOver that it kept from an earlier attempt.
class AttemptOver : public Interrupted {
 public:
  AttemptOver(Attempt which, const std::string& why) : Interrupted(why), attempt(which) {}
  Attempt attempt;
};

}  // namespace ratoon
