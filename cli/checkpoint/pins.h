// Pinning and unpinning by hand, while a run may be training and retiring.
#pragma once

#include <string>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/pins.h"
#include "cli/checkpoint/survey.h"

namespace ratoon::cli {

inline constexpr const char* kPinnedByHand = "pinned by hand";

// What is wrong with a reason that somebody gives; empty: nothing.
[[nodiscard]] std::string fault_of_reason(const std::string& why);

struct MadePin {
  checkpoint::Pin pin;  // with the first reason
  bool is_new = false;
  std::string file;  // as messages show it
};
// Of the checkpoint that choose() gives, which stays from then on. kConflict, and no pin of ours is left,
// where its run has retired it meanwhile; without a wish the newest is chosen again.
[[nodiscard]] Result<MadePin> make_pin(checkpoint::Disk& disk, const Wish& wish, const std::string& why);

// Of all pins the one that is wished for: without a wish the only one. kInvalid where there are several,
// kNotFound where there is none; the message lists those that there are.
[[nodiscard]] Result<checkpoint::Pin> choose_pin(const std::vector<checkpoint::Pin>& pins, const Wish& wish);

}  // namespace ratoon::cli
