// Pinning and unpinning by hand, while a run may be training and retiring.
#pragma once

#include <string>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/retention/pins.h"
#include "cli/checkpoint/survey.h"

namespace ratoon::cli {

inline constexpr const char* kPinnedByHand = "pinned by hand";

// The fault of a reason that a user gives; empty if the reason is valid.
[[nodiscard]] std::string fault_of_reason(const std::string& why);

struct MadePin {
  checkpoint::Pin pin;  // with the first reason
  bool is_new = false;
  std::string file;  // the file's path as shown in messages
};
// Pins the checkpoint that choose() returns, which is kept from then on. Returns kConflict, and leaves no new
// pin, if the run of the checkpoint has retired it in between. If the user selected no checkpoint, choose()
// is called again for the newest.
[[nodiscard]] Result<MadePin> make_pin(checkpoint::Disk& disk, const CheckpointSelection& selection,
                                       const std::string& why);

// Returns the selected pin, or the only one if nothing is selected. kInvalid if several match, kNotFound if
// none does; the message lists the pins.
[[nodiscard]] Result<checkpoint::Pin> choose_pin(const std::vector<checkpoint::Pin>& pins,
                                                 const CheckpointSelection& selection);

}  // namespace ratoon::cli
