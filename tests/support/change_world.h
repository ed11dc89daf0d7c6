// A change of the world, as a session reports it to the training function; a process that runs alone has no
// such changes.
#pragma once

#include <string>

#include <ratoon/session.h>

#include "agent/src/session/engine/engine.h"

namespace ratoon::test {

[[noreturn]] inline void change_world(const Session& session, const std::string& why) {
  throw AttemptOver(Attempt(session.attempt()), why);
}

}  // namespace ratoon::test
