// AttemptOver: the exception by which the session, or one of its collectives, ends an attempt.
#pragma once

#include <string>

#include <ratoon/failure.h>

#include "base/contract/messages.h"

namespace ratoon {

// The exception that Ratoon throws to end the current attempt. An Interrupted that is no AttemptOver may be
// thrown by the program itself, or may be kept from an earlier attempt.
class AttemptOver : public Interrupted {
 public:
  AttemptOver(Attempt which, const std::string& why) : Interrupted(why), attempt(which) {}
  Attempt attempt;
};

}  // namespace ratoon
