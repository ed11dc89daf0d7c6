// Loads the initial state of a run from a checkpoint of another run (--load-from), if the run has no
// checkpoint.
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
  // `step` is the step of the loaded checkpoint. With --load-parts=all, this run begins at `step`; otherwise
  // it begins at step 0. The history and the planned end of the other run are not used.
  Step step{0};
  std::optional<checkpoint::RunRecord> run{};
};

// Loads only those parts of the state that --load-parts selects into the tracked objects. Throws a Failure if
// the state cannot be loaded, because the run must not begin without it. If the state is in a folder, each
// read has the timeout of `calls`.
PretrainedState load_initial_state(const Options& options, const Assignment& assignment,
                                   const TrackedObjects& tracked,
                                   const std::shared_ptr<checkpoint::CallsWithTimeout>& calls);

}  // namespace ratoon::session
