// The control word: the requests of one rank, such as a save, as bits. The bitwise or of the control words of
// all ranks says what all ranks do after the same step. The ranks must agree on the step at which they act,
// because they receive requests at different times. The collective that averages the gradients also combines
// the control words. A program with its own collectives calls agree():
//
//   session.agree(or_over_all_ranks(session.requests()));
#pragma once

#include <cstdint>

namespace ratoon::session::control {

inline constexpr std::uint32_t kSave = 1U << 0;   // save together after this step
inline constexpr std::uint32_t kLeave = 1U << 1;  // save, wait for the commit, leave the attempt, join again
inline constexpr std::uint32_t kEnd = 1U << 2;    // the time of the run is over: save, make no further step
// Save, wait for the commit, and end the process with ExitCode::kPreempted.
inline constexpr std::uint32_t kStop = 1U << 3;
inline constexpr std::uint32_t kInterrupt = 1U << 4;        // with kStop: a user's Ctrl-C, and its exit code
inline constexpr std::uint32_t kFinish = 1U << 5;           // the program ends the run here: as kEnd
inline constexpr std::uint32_t kStopWithoutSave = 1U << 6;  // as kStop, without a save: none can end in time
inline constexpr std::uint32_t kPinCheckpoint = 1U
                                                << 7;  // with kSave: the program wants that checkpoint kept
inline constexpr std::uint32_t kBitCount = 8;          // how many bits there are

}  // namespace ratoon::session::control
