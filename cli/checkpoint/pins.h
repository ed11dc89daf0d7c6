// Pins and unpins checkpoints for the user, while a run may be training and retiring checkpoints.
#pragma once

#include <string>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/retention/pins.h"
#include "cli/checkpoint/survey.h"

namespace ratoon::cli {

inline constexpr const char* kDefaultPinReason = "pinned by hand";

// Returns an error text if a user's reason for a pin is not valid, otherwise an empty text.
[[nodiscard]] std::string check_pin_reason(const std::string& why);

struct PinResult {
  checkpoint::Pin pin;  // with the first reason
  bool is_new = false;
  std::string file;  // the file's path as shown in messages
};
// Pins the checkpoint that choose_checkpoint() returns, so that no run removes it. If the run has retired the
// newest checkpoint in the meantime, chooses again. If the user selected the retired checkpoint, returns
// kConflict and leaves no new pin.
[[nodiscard]] Result<PinResult> make_pin(checkpoint::Disk& disk, const CheckpointSelection& selection,
                                         const std::string& why);

// Returns the selected pin, or the only pin if the user selected none. Returns kInvalid if several pins match
// and kNotFound if none matches; the message lists the pins.
[[nodiscard]] Result<checkpoint::Pin> choose_pin(const std::vector<checkpoint::Pin>& pins,
                                                 const CheckpointSelection& selection);

}  // namespace ratoon::cli
