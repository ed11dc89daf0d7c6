// The control word: what a rank would like to happen, and what all ranks then do after the same step. Each
// rank hears of orders at another moment; what reduces gradients reduces these bits with them, by bitwise or:
//
//   session.agree(or_over_all_ranks(session.wishes()));
#pragma once

#include <cstdint>

namespace ratoon::session::control {

inline constexpr std::uint32_t kSave = 1U << 0;   // save together after this step
inline constexpr std::uint32_t kLeave = 1U << 1;  // save, wait for the commit, leave the attempt, join again
inline constexpr std::uint32_t kBits = 2;         // how many bits there are

}  // namespace ratoon::session::control
