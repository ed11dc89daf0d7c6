// Cuts the power after every operation of a log, in every way of crash_states.h and in many random ways, and
// asks a judge about each state that remains.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/support/crash/crash_states.h"

namespace ratoon::test {

struct CrashReport {
  std::uint64_t states = 0;
  std::uint64_t distinct = 0;
  std::uint64_t bad = 0;
  std::string first_bad;  // what the judge said, and where the power failed
};

// The fault of a state, or nothing.
using CrashJudge = std::function<std::optional<std::string>(const CrashState& state)>;

// States that were judged, and whether they were bad: many stories share most of their states.
using JudgedStates = std::unordered_map<std::uint64_t, bool>;

struct CrashPlan {
  DiskImage before{};
  std::vector<DiskOp> ops;
  std::uint32_t chances_a_cut = 20;  // besides the fates without chance
  std::uint64_t seed = 1;
  JudgedStates* judged = nullptr;  // by the same judge before; taken over and gone on with
};
[[nodiscard]] CrashReport check_crashes(const CrashPlan& plan, const CrashJudge& judge);

void add(CrashReport& sum, const CrashReport& more);

}  // namespace ratoon::test
