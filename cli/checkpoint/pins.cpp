#include "cli/checkpoint/pins.h"

#include <algorithm>
#include <iterator>

#include "base/core/random_name.h"
#include "base/core/utf8.h"
#include "cli/checkpoint/open_packs.h"

namespace ratoon::cli {
namespace {

using checkpoint::Disk;
using checkpoint::Pin;

constexpr std::size_t kListedPinsMax = 10;

// Returns kConflict if the run retired or quarantined the chosen checkpoint in the meantime.
Result<PinResult> try_to_pin(Disk& disk, const CheckpointSelection& selection, const std::string& why) {
  const auto survey = take_survey(disk);
  if (!survey) return survey.error();
  const auto found = choose_checkpoint(*survey, selection);
  if (!found) return found.error();
  const checkpoint::CheckpointId id = (*found)->id;
  const auto is_new = checkpoint::pin(disk, id, why, random_hex_name());
  if (!is_new) return is_new.error().with_context("pinning " + checkpoint_text(id));
  if (!is_retired(disk, id))
    return PinResult{{id, checkpoint::pin_reason(disk, id)}, *is_new, disk.shown(checkpoint::pin_path(id))};
  // Remove only a pin that this call made, not one that existed before.
  if (*is_new) {
    if (auto removed = checkpoint::unpin(disk, id); !removed)
      return removed.error().with_context("removing the pin of " + checkpoint_text(id) +
                                          ", a checkpoint that no longer exists");
  }
  return Error(ErrorKind::kConflict,
               "the checkpoint of " + checkpoint_text(id) +
                   " was removed after it was chosen, and was not pinned: its run retired it or set it "
                   "aside; `ratoon checkpoint list` shows the checkpoints that exist");
}

std::string names_of(const std::vector<Pin>& pins) {
  std::string text;
  for (std::size_t i = 0; i < pins.size() && i <= kListedPinsMax; ++i)
    text += (i == 0 ? "" : ", ") + (i < kListedPinsMax ? checkpoint_text(pins[i].id) : "...");
  return text;
}

}  // namespace

std::string check_pin_reason(const std::string& why) {
  if (why.find_first_not_of(' ') == std::string::npos)
    return "is empty; expected a reason for keeping the checkpoint";
  if (why.size() > checkpoint::kPinReasonBytesMax)
    return "has " + std::to_string(why.size()) + " bytes; expected " +
           std::to_string(checkpoint::kPinReasonBytesMax) + " at most";
  if (printable(why) != why) return "has a control character or is not UTF-8; expected one line of text";
  return "";
}

Result<PinResult> make_pin(Disk& disk, const CheckpointSelection& selection, const std::string& why) {
  const auto once = [&] { return try_to_pin(disk, selection, why); };
  // If the user named a checkpoint, do not retry with another checkpoint.
  return selection.step || selection.attempt ? once() : retry_if_retired(once);
}

Result<Pin> choose_pin(const std::vector<Pin>& pins, const CheckpointSelection& selection) {
  std::vector<Pin> selected;
  std::ranges::copy_if(pins, std::back_inserter(selected), [&](const Pin& pin) {
    return (!selection.step || pin.id.step.value() == *selection.step) &&
           (!selection.attempt || pin.id.attempt.value() == *selection.attempt);
  });
  if (selected.size() == 1) return selected.front();
  if (pins.empty()) return Error(ErrorKind::kNotFound, "no checkpoint is pinned here");
  if (selected.empty())
    return Error(ErrorKind::kNotFound,
                 "the chosen checkpoint is not pinned; the pinned checkpoints are: " + names_of(pins));
  return Error(ErrorKind::kInvalid,
               "several checkpoints are pinned; choose one with --step and --attempt: " + names_of(selected));
}

}  // namespace ratoon::cli
