// The loop of an example waits before each step until a test lets the step pass.
#pragma once

#include <cstdint>

#include "tests/integration/gate.h"

namespace ratoon::test {

inline void wait_at_gate(std::uint64_t step, const Session& session) {
  static Gate gate;
  gate.wait_for(step, session);
}

}  // namespace ratoon::test
