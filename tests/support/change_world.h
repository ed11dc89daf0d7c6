// A change of the world, as a session reports one to the training function: alone there are none.
#pragma once

#include <string>

#include <ratoon/session.h>

#include "agent/src/session/engine/engine.h"

namespace ratoon::test {

[[noreturn]] inline void change_world(const Session& session, const std::string& why) {
  throw AttemptOver(Attempt(session.attempt()), why);
}

}  // namespace ratoon::test
