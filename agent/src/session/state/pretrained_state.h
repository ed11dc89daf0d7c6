// The state with which a run without any checkpoint begins if --load-from names that of another run.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/calls_with_timeout.h"
#include "agent/src/checkpoint/format/run_record.h"
#include "agent/src/session/state/tracked_objects.h"
#include "base/contract/messages.h"

namespace ratoon::session {

// Reads --load-parts.
[[nodiscard]] Result<LoadParts> read_load_parts(const Options& options);

struct PretrainedState {
  LoadParts parts = LoadParts::kWeights;
  std::string from;
  // The position of the other run, which is used if all of its state was loaded. The history and the end of
  // the other run are not taken over.
  Step step{0};
  std::optional<checkpoint::RunRecord> run{};
};

// Fills the parts of the tracked objects that --load-parts selects, and no other parts. Throws a Failure if
// that is not possible: a run that was started with such a state must not begin without it. Reads a folder
// with the timeout of `calls`.
PretrainedState load_initial_state(const Options& options, const Assignment& assignment,
                                   const TrackedObjects& tracked,
                                   const std::shared_ptr<checkpoint::CallsWithTimeout>& calls);

}  // namespace ratoon::session
